"""Walks a folder of pictures, one directory at a time, to the bottom.

Links to files and folders are followed. Hidden files and folders (`.name`) and
files of other types are counted, links that lead nowhere or back, folders that
cannot be read and names that are not UTF-8 are faults. No more than the names of
one directory and of those above it are held.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import pathlib
import stat
from collections.abc import Iterator

from robust_tfds import errors

EXTENSIONS = frozenset(
  ".png .jpg .jpeg .jpe .jfif .bmp .webp .tif .tiff .gif .ppm .pgm .jp2 .avif"
  " .heic .heif".split()
)


@dataclasses.dataclass
class Walk:
  """The pictures below a folder, and what lies beside them.

  Attributes:
    root: the folder.
    hidden: how many hidden files and folders were passed by.
    other: how many files of other types, by their extension.
    faults: a line for each entry that may have held pictures.
  """

  root: pathlib.Path
  hidden: int = 0
  other: collections.Counter[str] = dataclasses.field(
    default_factory=collections.Counter
  )
  faults: list[str] = dataclasses.field(default_factory=list)

  def pictures(self) -> Iterator[pathlib.Path]:
    """Every picture once: those of a directory, then of the ones below it.

    Raises:
      UserError: two pictures of a directory that differ in their extensions
        alone.
    """
    self.hidden = 0
    self.other.clear()
    self.faults.clear()
    folders: list[tuple[pathlib.Path, tuple[str, ...]]]
    folders = [(self.root, (os.path.realpath(self.root),))]
    while folders:
      folder, above = folders.pop()
      below = []
      stems: dict[str, str] = {}
      for name in self._names(folder):
        path = folder / name
        kind = self._kind(path)
        if kind == "folder":
          real = os.path.realpath(path)
          if real in above:
            self.faults.append(
              f"{shown(path)}: a link back to a folder that it lies in. Remove"
              " it."
            )
          else:
            below.append((path, (*above, real)))
        elif kind == "picture":
          other = stems.setdefault(path.stem, name)
          if other != name:
            raise errors.UserError(
              f"{shown(folder)}: {shown(other)} and {shown(name)} would be"
              " written to one file; rename one of them."
            )
          yield path
      folders += reversed(below)

  def _names(self, folder: pathlib.Path) -> list[str]:
    try:
      return sorted(os.listdir(folder))
    except OSError as e:
      self.faults.append(f"{shown(folder)}: cannot be read: {e.strerror}.")
      return []

  def _kind(self, path: pathlib.Path) -> str:
    """`folder`, `picture`, or empty for what was counted instead."""
    suffix = path.suffix.lower()
    if path.name.startswith("."):
      self.hidden += 1
      return ""
    try:
      mode = os.stat(path).st_mode
      path.name.encode()
    except UnicodeEncodeError:
      self.faults.append(f"{shown(path)}: the name is not UTF-8. Rename it.")
      return ""
    except OSError as e:
      if suffix in EXTENSIONS or not suffix:
        self.faults.append(f"{shown(path)}: cannot be read: {e.strerror}.")
      else:
        self.other[suffix] += 1
      return ""
    if stat.S_ISDIR(mode):
      return "folder"
    if suffix not in EXTENSIONS:
      self.other[suffix] += 1
      return ""
    if not stat.S_ISREG(mode):
      self.faults.append(f"{shown(path)}: not a file. Remove it.")
      return ""
    return "picture"


def shown(path: str | os.PathLike) -> str:
  """A path as one line of text that every screen can print."""
  text = os.fspath(path)
  if text.isprintable():
    return text
  return text.encode("unicode_escape").decode("ascii")
