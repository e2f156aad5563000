"""A search for a data set's files, in folders or in the archives as downloaded.

Archives are read in place, member by member (`find`); only compressed ones,
whose members cannot be read individually, are unpacked next to the downloads
(`extracted`). So no path in an archive can leave its folder. Annotations name
files too; such a name is only looked up among the files found here, never
opened as a path.
"""

import dataclasses
import functools
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from etils import epath

from robust_tfds import reading
from robust_tfds.building import source
from robust_tfds.reading import archives as archives_lib
from robust_tfds.storage import paths

_LEFT_BEHIND = ("thumbs.db", "desktop.ini")  # Windows leaves them behind


def find(
  manual_dir: str | os.PathLike,
  folder: str,
  packed: Sequence[str],
  *,
  instructions: str,
  marker: str = "",
) -> dict[str, source.File]:
  """Return the files below an official folder, except hidden ones, by their
  path.

  The first place with any files is used: the folder itself, then each archive.

  Args:
    manual_dir: where the user put folders or archives.
    folder: official path, e.g. `VOCdevkit/VOC2007`.
    packed: official names of archives, e.g. `VOCtest_06-Nov-2007.tar`.
    instructions: what to put there, for the error.
    marker: a file that must be in the place; empty for none.

  Raises:
    FileNotFoundError: in none of the places; the message lists them.
    UserError: an incomplete archive, see `reading.archives`.
  """
  root = paths.parse(manual_dir)
  files = _folder_files(root / folder)
  if marker in files or (files and not marker):
    return files
  for name in packed:
    archive = root / name
    if archive.is_file():
      files = _archive_files(archive, folder)
      if marker in files or (files and not marker):
        return files
  expected = f"{folder}/{marker}" if marker else f"{folder}/"
  raise FileNotFoundError(
    f"{expected} is not in {root}. Looked for the folder {folder}"
    + (f" and in the archives {', '.join(packed)}" if packed else "")
    + f".\n{instructions}"
  )


def _folder_files(folder: epath.Path) -> dict[str, source.File]:
  return {
    below: source.File(below, whole)
    for below, whole in sorted(paths.files_below(folder))
    if not is_hidden(pathlib.PurePosixPath(below))
  }


def _archive_files(archive: epath.Path, folder: str) -> dict[str, source.File]:
  members = _members(str(archive), paths.state(archive))
  start = f"{folder}/"
  files = {
    m.name.removeprefix(start): source.File(
      m.name.removeprefix(start), m.archive, m
    )
    for m in members
    if m.name.startswith(start) and not is_hidden(pathlib.PurePosixPath(m.name))
  }
  return dict(sorted(files.items()))


@functools.lru_cache(maxsize=4)
def _members(
  archive: str, state: paths.State
) -> tuple[archives_lib.Member, ...]:
  del state  # an archive that was replaced is read again
  return tuple(archives_lib.members(archive))


@dataclasses.dataclass(frozen=True)
class SourceFolders:
  """Folders to search, and the instructions for errors.

  Attributes:
    roots: the folders to search, in order.
    instructions: the end of every error.
  """

  roots: tuple[epath.Path, ...]
  instructions: str

  def file(self, name: str, folders: Sequence[str]) -> epath.Path:
    """Return the first existing file, plain or gzipped (`.gz`).

    Raises:
      FileNotFoundError: it is missing; the message lists the places.

    """
    path = self.optional_file(name, folders)
    if path is None:
      raise self._absent(name, self._places(name, folders))
    return path

  def optional_file(
    self, name: str, folders: Sequence[str]
  ) -> epath.Path | None:
    """Return the first existing file as `file` does; None if there is none."""
    candidates = (
      path
      for place in self._places(name, folders)
      for path in (place, place.with_name(f"{name}.gz"))
    )
    return next((path for path in candidates if path.exists()), None)

  def folder(self, candidates: Sequence[str]) -> epath.Path:
    """Return the first folder that exists.

    Raises:
      FileNotFoundError: none does; the message lists the places.
    """
    folder = self.optional_folder(candidates)
    if folder is None:
      looked = [r / c for r in self.roots for c in candidates]
      raise self._absent("folder of frames", looked)
    return folder

  def optional_folder(self, candidates: Sequence[str]) -> epath.Path | None:
    """Return the first folder that exists; None if none does."""
    looked = (r / c for r in self.roots for c in candidates)
    return next((path for path in looked if path.is_dir()), None)

  def _places(self, name: str, folders: Sequence[str]) -> list[epath.Path]:
    return [root / f / name for root in self.roots for f in folders]

  def _absent(self, what: str, looked: Sequence[epath.Path]) -> OSError:
    return FileNotFoundError(
      f"No {what}. Looked for {', '.join(map(str, looked))}."
      f"\n{self.instructions}"
    )


@dataclasses.dataclass(frozen=True)
class Present:
  """A download manager that only knows present files and downloads nothing.

  Attributes:
    manual_dir: where the user put files.
    download_dir: the folder of downloads.
  """

  manual_dir: str | os.PathLike
  download_dir: str | os.PathLike

  def download(self, url: Any) -> Any:
    """Raise FileNotFoundError, as without a network."""
    raise FileNotFoundError(f"{url} is not downloaded again.")


class NotFetchedError(FileNotFoundError):
  """An error for something that only a build downloads or unpacks."""


class Look(Present):
  """A download manager for checks: it neither downloads nor unpacks."""

  def download(self, url: Any) -> Any:
    """Raise NotFetchedError, which names the address."""
    raise NotFetchedError(f"{url} is downloaded by the build.")


def is_hidden(path: pathlib.PurePath) -> bool:
  """Return whether a file is one that systems leave: `.DS_Store`, `._a.jpg`."""
  return path.name.startswith(".") or path.name.lower() in _LEFT_BEHIND


def manual_dir(dl_manager: Any) -> epath.Path | None:
  """Return a download manager's manual dir; None if it has none, or no files."""
  try:
    return paths.parse(dl_manager.manual_dir)
  except AssertionError:  # TFDS's way to say so
    return None


def extracted(
  dl_manager: Any, archives: Sequence[str], folder: str
) -> tuple[epath.Path, ...]:
  """Return the manual dir, and an archive's contents if its folder is missing.

  Args:
    dl_manager: TFDS's; the archive is extracted once, next to its downloads.
    archives: names of archives in the manual dir, the first that exists counts.
    folder: the folder in the archive; if it exists, nothing is extracted.
  """
  root = paths.parse(dl_manager.manual_dir)
  present = [root / a for a in archives if (root / a).exists()]
  if not present or (root / folder).is_dir():
    return (root,)
  archive = present[0]
  if isinstance(dl_manager, Look):
    raise NotFetchedError(f"{archive} is unpacked by the build.")
  state = paths.state(archive)
  name = f"{archive.name}.{state.size}.{state.changed[0]}"
  place = paths.parse(dl_manager.download_dir) / "extracted" / name
  return root, archives_lib.extract(archive, place)


def text(path: epath.Path) -> str:
  """Return the text of a file, plain or gzipped (`.gz`).

  Raises:
    UserError: not UTF-8, or a broken gzip file; the message begins with the
      path.
  """
  if path.suffix != ".gz":
    return reading.text_file(path)
  return reading.decode(archives_lib.gunzipped(path), str(path))
