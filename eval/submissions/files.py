"""The files of a submission, compared with its manifest.

Names and kinds of files are checked before any file is opened: a link is not
followed, and a manifest cannot name a file outside its folder.
"""

import os
import stat
from collections.abc import Iterator

from etils import epath

from eval.cells.files import note
from eval.submissions import manifest as manifest_lib
from eval.submissions.manifest import Manifest
from robust_tfds import errors
from robust_tfds.reading import limits
from robust_tfds.storage import paths

REQUIRED = ("config.json", "table.csv")
TRUTH = ("truth.json", "truth.sha256")
_LIMIT = 1_000_000  # files


def check(folder: epath.Path, manifest: Manifest) -> None:
  """Refuse a folder that does not hold exactly the files of its manifest.

  Raises:
    UserError: a path out of the folder; a link, pipe or device; a file that is
      missing, unexpected, or not of its size and sha256. The message names it.
  """
  source = folder / manifest_lib.FILE
  for name in manifest.files:
    if "\\" in name or any(p in ("", ".", "..") for p in name.split("/")):
      raise errors.UserError(
        f"{source}: files: got {name!r}, expected a path inside the folder."
      )
  total = sum(file.size for file in manifest.files.values())
  limits.check(total, limits.ARRAY_BYTES, str(source), "bytes of files")
  found = below(folder) - {manifest_lib.FILE}
  expected = manifest.files.keys() | set(REQUIRED)
  for name in sorted(found - expected):
    raise errors.UserError(
      f"{folder / name}: {manifest_lib.FILE} does not name this file. A"
      " submission holds no other files: remove it."
    )
  for name in sorted(expected - found):
    raise errors.UserError(
      f"{folder / name}: there is no such file, but a submission needs it. Copy"
      " the whole submission again."
    )
  for name, file in manifest.files.items():
    note.check_size(folder / name, file)
    if note.file_sha256(folder / name) != file.sha256:
      raise errors.UserError(
        f"{folder / name}: its sha256 is not that in {manifest_lib.FILE}: it was"
        " changed or damaged since."
      )


def below(folder: epath.Path) -> set[str]:
  """Return the paths of all files below a folder, with slashes.

  Raises:
    UserError: a link, pipe or device, or too many files.
  """
  names: set[str] = set()
  for name in _below(folder, ""):
    names.add(name)
    if len(names) > _LIMIT:
      raise errors.UserError(f"{folder}: more than {_LIMIT:,} files.")
  return names


def _below(root: epath.Path, folder: str) -> Iterator[str]:
  for entry in paths.scan(root / folder if folder else root):
    name = f"{folder}/{entry.name}" if folder else entry.name
    if entry.is_dir() and not entry.is_symlink():
      yield from _below(root, name)
      continue
    # Buckets hold only files.
    if isinstance(entry, os.DirEntry) and not stat.S_ISREG(
      entry.stat(follow_symlinks=False).st_mode
    ):
      raise errors.UserError(
        f"{root / name}: a link, pipe or device. A submission holds only plain"
        " files."
      )
    yield name
