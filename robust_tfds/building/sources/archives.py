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
from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds.building import geometry
from robust_tfds.building.sources import folders
from robust_tfds.reading import archives
from robust_tfds.storage import paths


@dataclasses.dataclass(frozen=True)
class File:
  """One file, on its own or inside an archive.

  Attributes:
    name: its path below the official folder, with slashes.
    path: the file, or the archive that holds it.
    member: of the archive; None for a file of its own.
  """

  name: str
  path: str
  member: archives.Member | None = None

  @property
  def where(self) -> str:
    """What a message about the file begins with."""
    return self.member.where if self.member else self.path

  def data(self) -> bytes:
    """The file's bytes.

    Raises:
      UserError: the archive is broken or cut off.
    """
    if self.member is not None:
      return archives.data(self.member)
    return paths.read_bytes(self.path)


def find(
  manual_dir: str | os.PathLike,
  folder: str,
  archives: Sequence[str],
  *,
  instructions: str,
  marker: str = "",
) -> dict[str, File]:
  """The files below an official folder but hidden ones, by their path below it.

  The first place that has any is used: the folder itself, then each archive.

  Args:
    manual_dir: where the user put folders or archives.
    folder: official path, e.g. `VOCdevkit/VOC2007`.
    archives: official names, e.g. `VOCtest_06-Nov-2007.tar`.
    instructions: what to put there, for the error.
    marker: a file that the place must have; empty for any.

  Raises:
    FileNotFoundError: in none of the places; says what was looked for, where.
    UserError: an archive that is not whole, see `reading.archives`.
  """
  root = paths.of(manual_dir)
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
  return geometry.decode(file.data(), "whole", file.where)


def _in_folder(folder: epath.Path) -> dict[str, File]:
  return {
    below: File(below, whole)
    for below, whole in sorted(paths.files_below(folder))
    if not folders.is_hidden(pathlib.PurePosixPath(below))
  }


def _in_archive(archive: epath.Path, folder: str) -> dict[str, File]:
  members = _members(str(archive), paths.state(archive))
  start = f"{folder}/"
  files = {
    m.name.removeprefix(start): File(m.name.removeprefix(start), m.archive, m)
    for m in members
    if m.name.startswith(start)
    and not folders.is_hidden(pathlib.PurePosixPath(m.name))
  }
  return dict(sorted(files.items()))


@functools.lru_cache(maxsize=4)
def _members(archive: str, state: paths.State) -> tuple[archives.Member, ...]:
  del state  # an archive that was replaced is read again
  return tuple(archives.members(archive))
