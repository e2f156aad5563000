"""Walks a folder of pictures or videos, one directory at a time, to the bottom.

Links to files and folders are followed, where asked for inside the folder alone.
Hidden files and folders (`is_hidden`) and files of other types are counted, as are
links back to a folder that they lie in; links that lead nowhere, folders that
cannot be read and names that are not UTF-8 are faults. No more than the names of
one directory and of those above it are held.
"""

import collections
import dataclasses
import os
import unicodedata
from collections.abc import Collection, Iterator, Sequence

from etils import epath

from robust_tfds.storage import paths

EXTENSIONS = frozenset(
  ".png .jpg .jpeg .jpe .jfif .bmp .webp .tif .tiff .gif .ppm .pgm .jp2 .avif"
  " .heic .heif".split()
)


@dataclasses.dataclass
class Walk:
  """The files of some types below a folder, and counts of other files there.

  Attributes:
    root: the folder.
    only: the one file of it that is taken, whatever its type; None: all.
    extensions: file extensions of the types, with the dot, in small letters.
    outside: follow links that lead out of the folder; else they are faults.
    inside: pass by files that lie beside the folder's own folders, which may
      be links out of it.
    beside: how many those were.
    hidden: how many hidden files and folders were passed by.
    other_types: how many files of other types, by their extension.
    loops: links back to a folder that they lie in.
    faults: a line for each entry that may have held such files.
    same_stem: two files of a directory that differ in their extensions alone, in
      words; empty where no two do.
  """

  root: epath.Path
  extensions: Collection[str] = EXTENSIONS
  outside: bool = True
  inside: bool = False
  only: epath.Path | None = None
  beside: int = 0
  hidden: int = 0
  other_types: collections.Counter[str] = dataclasses.field(
    default_factory=collections.Counter
  )
  loops: list[str] = dataclasses.field(default_factory=list)
  faults: list[str] = dataclasses.field(default_factory=list)
  same_stem: str = ""

  def files(self) -> Iterator[epath.Path]:
    """Yield each file of the types once: a directory's, then those further down."""
    self.same_stem = ""
    self.hidden = self.beside = 0
    self.other_types.clear()
    self.loops.clear()
    self.faults.clear()
    if self.only:
      yield self.only
      return
    folders: list[tuple[str, tuple[str, ...]]]
    folders = [(os.fspath(self.root), (os.fspath(paths.resolved(self.root)),))]
    while folders:
      folder, above = folders.pop()
      at_root = self.inside and len(above) == 1
      below = []
      stems: dict[str, str] = {}
      for entry in self._entries(folder):
        kind = self._kind(entry)
        if kind == "folder":
          real = os.path.join(above[-1], entry.name)
          if entry.is_symlink():
            real = os.path.realpath(entry.path)
          if real in above:
            self.loops.append(entry.path)
          else:
            below.append((entry.path, (*above, real)))
        elif kind == "file" and at_root:
          self.beside += 1
        elif kind == "file":
          stem, _ = os.path.splitext(entry.name)
          before = stems.setdefault(stem, entry.name)
          if before != entry.name and not self.same_stem:
            both = f"{printable(before)} and {printable(entry.name)}"
            self.same_stem = f"{both} in {printable(folder)}"
          yield paths.parse(entry.path)
      folders += reversed(below)

  def _entries(self, folder: str) -> Sequence[paths.AnyEntry]:
    try:
      return paths.scan(folder)
    except OSError as e:
      self.faults.append(f"{printable(folder)}: cannot be read: {e.strerror}.")
      return []

  def _kind(self, entry: paths.AnyEntry) -> str:
    """Return `folder`, `file`, or empty for what was counted instead."""
    if is_hidden(entry.name):
      self.hidden += 1
      return ""
    if not _is_utf8(entry.name):
      self.faults.append(
        f"{printable(entry.path)}: the name is not UTF-8. Rename it."
      )
      return ""
    suffix = os.path.splitext(entry.name)[1].lower()
    try:
      if not self.outside and entry.is_symlink() and self._leads_out(entry):
        self.faults.append(
          f"{printable(entry.path)}: a link out of {printable(self.root)}. Copy what it"
          " leads to, or remove it."
        )
        return ""
      if entry.is_dir():
        return "folder"
      if suffix in self.extensions and entry.is_file():
        return "file"
    except OSError:  # a link to itself, or into a folder that is locked
      pass
    if suffix in self.extensions or (entry.is_symlink() and not suffix):
      self.faults.append(f"{printable(entry.path)}: {_no_file(entry.path)}")
    else:
      self.other_types[suffix] += 1
    return ""

  def _leads_out(self, entry: paths.AnyEntry) -> bool:
    """Return whether a link leads outside the folder; but see `inside`."""
    above = os.path.dirname(entry.path) == os.fspath(self.root)
    if self.inside and above and entry.is_dir():
      return False
    end, root = map(os.path.realpath, (entry.path, os.fspath(self.root)))
    return os.path.commonpath([end, root]) != root


def name_of(place: str) -> str:
  """Return the last part of a path as it was written: links are not followed."""
  absolute = os.path.abspath(place) if paths.is_local(place) else place
  name = absolute.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
  return unicodedata.normalize("NFC", name)


def example_id(path: epath.Path, root: epath.Path) -> str:
  """Return the path below a folder, with slashes, in Unicode's NFC."""
  below = os.path.relpath(path, root).replace(os.sep, "/")
  return unicodedata.normalize("NFC", below)


def is_hidden(name: str) -> bool:
  """Return whether a name is hidden, or a folder that zips of macOS add."""
  return name.startswith(".") or name == "__MACOSX"


def _is_utf8(name: str) -> bool:
  try:
    name.encode()
  except UnicodeEncodeError:
    return False
  return True


def _no_file(path: str) -> str:
  """Say for a fault why a path is no file."""
  try:
    os.stat(path)
  except OSError as e:
    return f"cannot be read: {e.strerror}."
  return "not a file. Remove it."


def printable(path: str | os.PathLike) -> str:
  """Return a path as one line of text that every screen can print."""
  text = os.fspath(path)
  if text.isprintable():
    return text
  return text.encode("unicode_escape").decode("ascii")
