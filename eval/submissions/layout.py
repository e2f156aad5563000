"""The files of a submission: which there may be, and that they are those named.

Nothing is followed, opened or unpacked before its name and kind are known to be
right: links, pipes and devices are refused as they lie there, and a manifest can
name no file outside of its folder.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from etils import epath

from eval.cells.files import examples, note, predictions
from eval.submissions import manifest as manifest_lib
from eval.submissions.manifest import Manifest
from robust_tfds import errors
from robust_tfds.reading import limits
from robust_tfds.storage import paths

REQUIRED = ("config.json", "table.csv")
TRUTH = ("truth.json", "truth.sha256")
_MOST_FILES = 1_000_000
# A name of `eval/cells/names.py`, which is none of `.` and `..`.
_NAME = r"(?!\.)[^/\\:*?\"<>|\x00-\x1f\x7f]{1,200}"
_CELL = rf"cells/{_NAME}/{_NAME}/{_NAME}/seed-?\d{{1,20}}"
_ALLOWED = re.compile(
  "|".join(
    (
      *map(re.escape, (*REQUIRED, *TRUTH)),
      rf"{examples.FOLDER}/[0-9a-f]{{16}}\.npz",
      rf"models/{_NAME}/weights\.npz",
      rf"{_CELL}/({re.escape(predictions.FILE)}|{re.escape(note.FILE)})",
    )
  )
)


def check(folder: epath.Path, manifest: Manifest) -> None:
  """Refuse a folder that does not hold exactly the files of its manifest.

  Raises:
    UserError: a path that no submission has; a link, pipe or device; a file that
      is missing, too many, or not of its size and sha256. Names it.
  """
  _check_paths(folder / manifest_lib.FILE, manifest.files)
  total = sum(file.size for file in manifest.files.values())
  source = str(folder / manifest_lib.FILE)
  limits.check(total, limits.ARRAY_BYTES, source, "bytes of files")
  there = files_of(folder)
  there.discard(manifest_lib.FILE)
  for name in sorted(there - manifest.files.keys()):
    raise errors.UserError(
      f"{folder / name}: {manifest_lib.FILE} does not name this file. A"
      " submission holds nothing else: remove it."
    )
  for name in sorted(manifest.files.keys() - there):
    raise errors.UserError(
      f"{folder / name}: there is no such file, but {manifest_lib.FILE} names"
      " it. Copy the whole submission again."
    )
  for name, file in manifest.files.items():
    note.check_size(folder / name, file)
  for name, file in manifest.files.items():
    if note.file_sha256(folder / name) != file.sha256:
      raise errors.UserError(
        f"{folder / name}: its sha256 is not that in {manifest_lib.FILE}: it was"
        " changed or damaged since."
      )


def files_of(folder: epath.Path) -> set[str]:
  """Paths of all files below a folder, with slashes.

  Raises:
    UserError: a link, pipe or device, an empty folder, or too many files.
  """
  names: set[str] = set()
  for name in _below(folder, ""):
    names.add(name)
    if len(names) > _MOST_FILES:
      raise errors.UserError(f"{folder}: more than {_MOST_FILES:,} files.")
  return names


def _below(root: epath.Path, folder: str) -> Iterator[str]:
  """Files of a folder; no link is followed."""
  listed = paths.scan(root / folder if folder else root)
  if not listed:
    raise errors.UserError(f"{root / folder}: an empty folder: remove it.")
  for entry in listed:
    name = f"{folder}/{entry.name}" if folder else entry.name
    if entry.is_dir() and not entry.is_symlink():
      yield from _below(root, name)
      continue
    wrong = ""  # buckets hold nothing but files
    if isinstance(entry, os.DirEntry):
      wrong = _wrong_kind(entry.stat(follow_symlinks=False))
    if wrong:
      raise errors.UserError(
        f"{root / name}: {wrong}; a submission holds plain files alone."
      )
    yield name


def _wrong_kind(state: os.stat_result) -> str:
  """What is wrong with the kind of a file; empty where nothing is."""
  if stat.S_ISLNK(state.st_mode):
    return "a symbolic link"
  if not stat.S_ISREG(state.st_mode):
    return "neither a file nor a folder"
  if state.st_nlink > 1:
    return "a hard link: the same file has another name elsewhere"
  return ""


def _check_paths(source: epath.Path, files: Mapping[str, object]) -> None:
  """Refuse names that no submission has."""
  for name in files:
    if _leads_out(name):
      raise errors.UserError(
        f"{source}: files: {name!r} leads out of the folder, or is no path with"
        " slashes."
      )
    if not _ALLOWED.fullmatch(name):
      raise errors.UserError(
        f"{source}: files: {name!r} is no file of a submission."
      )
  _check_distinct(source, files)
  needed = [*REQUIRED, *(TRUTH if set(TRUTH) & files.keys() else ())]
  for name in needed:
    if name not in files:
      raise errors.UserError(f"{source}: files: lacks {name}.")


def _leads_out(name: str) -> bool:
  parts = name.split("/")
  return (
    "\\" in name
    or "\0" in name
    or bool(re.match(r"[A-Za-z]:", name))
    or any(part in ("", ".", "..") for part in parts)
  )


def _check_distinct(source: epath.Path, names: Iterable[str]) -> None:
  """Refuse names that are one on some file systems."""
  first: dict[str, str] = {}
  for name in names:
    same = unicodedata.normalize("NFC", name).casefold()
    other = first.setdefault(same, name)
    if other != name:
      raise errors.UserError(
        f"{source}: files: {other!r} and {name!r} are one file where file"
        " systems take large letters for small ones."
      )
