"""`folder:PATH`: pictures of any sizes, in a folder a class.

A folder below the place is a class, and its name the class's; labels follow the
order of the names. Pictures may lie at any depth in it. An example's id is the path
below the place, with slashes and in Unicode's NFC: the same wherever the folder
lies.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection, Sequence
from typing import ClassVar, Self

from etils import epath

from robust_tfds import errors
from robust_tfds.building import base, source
from robust_tfds.building.sources import folders
from robust_tfds.own import labelled, own_set
from robust_tfds.reading import picture_folders
from robust_tfds.storage import paths

_SPLITS = frozenset(("train", "test", "val", "valid", "validation"))


class Folder(own_set.OwnSet):
  """The pictures of a folder.

  Class attributes:
    noun: what its files are.
    extensions: by which they are known.
  """

  kind = "folder"
  noun: ClassVar[str] = "picture"
  extensions: ClassVar[frozenset[str]] = picture_folders.EXTENSIONS

  def __init__(self, root: epath.Path, name: str, where: str):
    """Lists the folder, once.

    Raises:
      UserError: fewer than two classes, a class without pictures, or entries
        that cannot be read or told apart; names the first.
    """
    listed, notes = self._listed(root)
    classes = self._classes(root, listed)
    super().__init__(name, where, classes, notes=notes)
    label_of = {each: label for label, each in enumerate(classes)}
    self._files = [
      source.File(i, whole, label=label_of[i.partition("/")[0]])
      for i, whole in listed
    ]

  @classmethod
  def at(cls, place: str, options: own_set.Options) -> Self:
    """The set of a place; UserError where it is no folder."""
    root, where = paths.of(place, "folder"), f"{cls.kind}:{place}"
    if not root.is_dir():
      raise errors.UserError(
        f"{where}: there is no such folder. Expected one with a folder of"
        f" {cls.noun}s for each class."
      )
    return cls(paths.resolved(root), options.name or last(place), where)

  def files(self) -> Sequence[source.File]:
    """By their paths below the folder."""
    return self._files

  def _listed(
    self, root: epath.Path
  ) -> tuple[list[tuple[str, str]], list[str]]:
    """Every file that has a class, and what else lies there, in words."""
    what = f"{self.kind}:{root}: the {self.noun}s"
    pairs, walk = files(root, what, self.extensions)
    inside = [pair for pair in pairs if "/" in pair[0]]
    counts = {
      "hidden files": walk.hidden,
      f"files that are no {self.noun}s": sum(walk.other_types.values()),
      f"{self.noun}s beside the class folders": len(pairs) - len(inside),
    }
    notes = [
      f"{count:,} {kind} left out" for kind, count in counts.items() if count
    ]
    return inside, notes

  def _classes(
    self, root: epath.Path, listed: Sequence[tuple[str, str]]
  ) -> list[str]:
    """Names of the classes in label order: of their sorted names."""
    there = [
      unicodedata.normalize("NFC", entry.name)
      for entry in paths.scan(root)
      if entry.is_dir() and not entry.name.startswith(".")
    ]
    own_set.check_distinct(there, f"{self.kind}:{root}: the classes")
    full = {i.partition("/")[0] for i, _ in listed}
    empty = sorted(set(there) - full)
    if there and {name.casefold() for name in there} <= _SPLITS:
      raise errors.UserError(
        f"{self.kind}:{root}: it holds the splits {', '.join(sorted(there))}, not"
        f" classes: name one of them, e.g. {self.kind}:{root / sorted(there)[0]}."
      )
    if len(there) < 2:
      raise errors.UserError(
        f"{self.kind}:{root}: {len(there)} folders, expected two or more: a"
        f" folder of {self.noun}s for each class."
      )
    if empty:
      raise errors.UserError(
        f"{root / empty[0]}: a class without a {self.noun}"
        + (f" (and {len(empty) - 1} more)" if len(empty) > 1 else "")
        + f". Add {self.noun}s ({' '.join(sorted(self.extensions))}), or remove"
        " the folder."
      )
    return sorted(there)


def builder_class(place: str, options: own_set.Options) -> type[base.Builder]:
  """The builder of a folder's pictures; see `Folder`."""
  return labelled.builder_class(Folder.at(place, options), options.sequences)


def last(place: str) -> str:
  """The last part of a path as it was written: links are not followed."""
  absolute = os.path.abspath(place) if paths.is_local(place) else place
  name = absolute.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
  return unicodedata.normalize("NFC", name)


def files(
  root: epath.Path,
  what: str,
  extensions: Collection[str] = picture_folders.EXTENSIONS,
) -> tuple[list[tuple[str, str]], picture_folders.Walk]:
  """(path below in Unicode's NFC, whole path) of every file, sorted; the walk.

  Args:
    root: the folder.
    what: the files are, for refusals.
    extensions: of the files.

  Raises:
    UserError: entries that cannot be read or told apart; names the first.
  """
  walk = picture_folders.Walk(root, extensions, by_stem=False, outside=False)
  pairs = sorted(
    (unicodedata.normalize("NFC", _below(path, root)), os.fspath(path))
    for path in walk.files()
    if not folders.is_hidden(path)
  )
  for faults in (walk.faults, walk.loops):
    if faults:
      more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
      raise errors.UserError(f"{faults[0]}{more}")
  own_set.check_distinct([i for i, _ in pairs], what)
  return pairs, walk


def _below(path: epath.Path, root: epath.Path) -> str:
  return os.path.relpath(path, root).replace(os.sep, "/")
