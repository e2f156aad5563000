"""Files of an official layout: in folders, or in the archives as downloaded.

Archives are read in place, member by member: nothing is unpacked, so no path in
an archive can leave its folder. Annotations name files too; such a name is only
looked up among the files found here, never opened as a path.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import tarfile
import zipfile
import zlib
from collections.abc import Sequence

import numpy as np

from robust_tfds import errors
from robust_tfds.datasets import geometry


@dataclasses.dataclass(frozen=True)
class File:
  """One file, on its own or inside an archive.

  Attributes:
    name: its path below the official folder, with slashes.
    path: the file, or the archive that holds it.
    member: its name in a zip archive.
    offset: its first byte in a tar archive.
    size: its bytes in a tar archive.
  """

  name: str
  path: str
  member: str | None = None
  offset: int = 0
  size: int | None = None

  def data(self) -> bytes:
    """The file's bytes.

    Raises:
      UserError: the archive is broken or cut off.
    """
    if self.member is not None:
      try:
        state = os.stat(self.path)
        archive = _zip(self.path, state.st_size, state.st_mtime_ns)
        return archive.read(self.member)
      except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as e:
        raise errors.UserError(
          f"{self.path}: {self.member} cannot be read ({e}); download the"
          " archive again."
        ) from e
    with open(self.path, "rb") as f:
      f.seek(self.offset)
      data = f.read(-1 if self.size is None else self.size)
    if self.size is not None and len(data) != self.size:
      raise errors.UserError(
        f"{self.path}: {self.name} has {len(data)} of {self.size} bytes;"
        " download the archive again."
      )
    return data


def find(
  manual_dir: str | os.PathLike,
  folder: str,
  archives: Sequence[str],
  *,
  instructions: str,
  marker: str = "",
) -> dict[str, File]:
  """The files below an official folder, by their path below it.

  The first place that has any is used: the folder itself, then each archive.

  Args:
    manual_dir: where the user put folders or archives.
    folder: official path, e.g. `VOCdevkit/VOC2007`.
    archives: official names, e.g. `VOCtest_06-Nov-2007.tar`.
    instructions: what to put there, for the error.
    marker: a file that the place must have; empty for any.

  Raises:
    FileNotFoundError: in none of the places; says what was looked for, where.
    UserError: a broken archive, or a file that is twice in one.
  """
  root = pathlib.Path(os.fspath(manual_dir))
  files = _in_folder(root / folder)
  if marker in files or (files and not marker):
    return files
  for name in archives:
    archive = root / name
    if archive.is_file():
      files = _in_archive(archive, folder)
      if marker in files or (files and not marker):
        return files
  expected = f"{folder}/{marker}" if marker else f"{folder}/"
  raise FileNotFoundError(
    f"{expected} is not in {root}. Looked for the folder {folder}"
    + (f" and in the archives {', '.join(archives)}" if archives else "")
    + f".\n{instructions}"
  )


def picture(file: File) -> np.ndarray:
  """A whole picture: uint8 `[H, W, 3]`; UserError, with its name, if broken."""
  return geometry.decode(file.data(), "whole", file.name)


def _in_folder(folder: pathlib.Path) -> dict[str, File]:
  files = {}
  for path, _, names in os.walk(folder):
    for name in names:
      full = os.path.join(path, name)
      below = os.path.relpath(full, folder).replace(os.sep, "/")
      files[below] = File(below, full)
  return dict(sorted(files.items()))


def _in_archive(archive: pathlib.Path, folder: str) -> dict[str, File]:
  files: dict[str, File] = {}
  state = archive.stat()
  for member, offset, size in _members(
    str(archive), state.st_size, state.st_mtime_ns
  ):
    name = member.removeprefix("./")
    if not name.startswith(folder + "/"):
      continue
    below = name[len(folder) + 1 :]
    if below in files:
      raise errors.UserError(f"{archive}: {member} is there twice.")
    if size is None:
      files[below] = File(below, str(archive), member=member)
    else:
      files[below] = File(below, str(archive), offset=offset, size=size)
  return dict(sorted(files.items()))


@functools.lru_cache(maxsize=4)
def _members(
  archive: str, size: int, changed: int
) -> tuple[tuple[str, int, int | None], ...]:
  """(name, offset, size) of the files; the size is None in a zip."""
  del size, changed  # an archive that was replaced is read again
  try:
    if zipfile.is_zipfile(archive):
      with zipfile.ZipFile(archive) as z:
        return tuple(
          (i.filename, 0, None) for i in z.infolist() if not i.is_dir()
        )
    # Plain tar only: members of a compressed one have no offsets.
    with tarfile.open(archive, "r:") as tar:
      return tuple((m.name, m.offset_data, m.size) for m in tar if m.isfile())
  except (tarfile.TarError, zipfile.BadZipFile, EOFError) as e:
    raise errors.UserError(
      f"{archive} is not a whole zip or tar archive ({e}); download it again."
    ) from e


@functools.lru_cache(maxsize=4)  # reading the directory of a zip takes 0.1 s
def _zip(path: str, size: int, changed: int) -> zipfile.ZipFile:
  del size, changed  # as in `_members`
  return zipfile.ZipFile(path)
