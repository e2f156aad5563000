"""Finds a data set's files in the manual dir and in what was extracted of it."""

from __future__ import annotations

import dataclasses
import gzip
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from robust_tfds import errors

_LEFT_BEHIND = ("thumbs.db", "desktop.ini")  # by Windows


@dataclasses.dataclass(frozen=True)
class SourceFolders:
  """Folders to look in, and what to tell when nothing is there.

  Attributes:
    roots: searched in turn.
    instructions: the end of every error.
  """

  roots: tuple[pathlib.Path, ...]
  instructions: str

  def text(
    self, name: str, folders: Sequence[str], *, optional: bool = False
  ) -> str:
    """A text file, plain or gzipped (`.gz`); empty if optional and absent.

    Raises:
      FileNotFoundError: not there; says where it was looked for.
      UserError: not UTF-8, or a broken gzip file.
    """
    looked = [r / f / name for r in self.roots for f in folders]
    for path in looked:
      for file in (path, path.with_name(f"{name}.gz")):
        if file.exists():
          return _decoded(file)
    if optional:
      return ""
    raise self._absent(name, looked)

  def folder(self, candidates: Sequence[str]) -> pathlib.Path:
    """The first folder that exists.

    Raises:
      FileNotFoundError: none does; says where it was looked for.
    """
    folder = self.optional_folder(candidates)
    if folder is None:
      looked = [r / c for r in self.roots for c in candidates]
      raise self._absent("folder of frames", looked)
    return folder

  def optional_folder(self, candidates: Sequence[str]) -> pathlib.Path | None:
    """The first folder that exists, None if none does."""
    looked = (r / c for r in self.roots for c in candidates)
    return next((path for path in looked if path.is_dir()), None)

  def _absent(self, what: str, looked: Sequence[pathlib.Path]) -> OSError:
    return FileNotFoundError(
      f"No {what}. Looked for {', '.join(map(str, looked))}."
      f"\n{self.instructions}"
    )


def is_hidden(path: pathlib.PurePath) -> bool:
  """Whether a file is what systems leave in folders: `.DS_Store`, `._a.jpg`."""
  return path.name.startswith(".") or path.name.lower() in _LEFT_BEHIND


def manual_dir(dl_manager: Any) -> pathlib.Path | None:
  """The manual dir of a download manager; None where it has none, or no files."""
  try:
    return pathlib.Path(os.fspath(dl_manager.manual_dir))
  except AssertionError:  # TFDS's way to say so
    return None


def extracted(
  dl_manager: Any, archives: Sequence[str], folder: str
) -> tuple[pathlib.Path, ...]:
  """The manual dir, and an archive's contents if its folder is not there.

  Args:
    dl_manager: of TFDS; extracts once and remembers.
    archives: names of archives in the manual dir, the first that exists counts.
    folder: what the archive holds; if it is there, nothing is extracted.
  """
  root = pathlib.Path(os.fspath(dl_manager.manual_dir))
  present = [root / a for a in archives if (root / a).exists()]
  if not present or (root / folder).is_dir():
    return (root,)
  return root, pathlib.Path(os.fspath(dl_manager.extract(present[0])))


def _decoded(file: pathlib.Path) -> str:
  data = file.read_bytes()
  try:
    data = gzip.decompress(data) if file.suffix == ".gz" else data
    return data.decode("utf-8")
  except (OSError, EOFError, UnicodeDecodeError) as e:
    raise errors.UserError(
      f"{file} cannot be read ({e}); fetch it again."
    ) from e
