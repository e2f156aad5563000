"""`folder:PATH`: pictures of any sizes, in a folder a class.

A folder below the place is a class, and its name the class's; labels follow the
order of the names. Pictures may lie at any depth in it. An example's id is the path
below the place, with slashes and in Unicode's NFC: the same wherever the folder
lies.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence

from etils import epath

from robust_tfds import errors
from robust_tfds.building import base, source
from robust_tfds.building.sources import folders
from robust_tfds.own import labelled, own_set
from robust_tfds.reading import picture_folders
from robust_tfds.storage import paths

_SPLITS = frozenset(("train", "test", "val", "valid", "validation"))


class Folder(own_set.OwnSet):
  """The pictures of a folder."""

  kind = "folder"

  def __init__(self, root: epath.Path, name: str, where: str):
    """Lists the folder, once.

    Raises:
      UserError: no folder, fewer than two classes, a class without pictures, or
        entries that cannot be read or told apart; names the first.
    """
    listed, notes = _listed(root)
    classes = _classes(root, listed)
    super().__init__(name, where, classes, notes=notes)
    label_of = {each: label for label, each in enumerate(classes)}
    self._files = [
      source.File(i, whole, label=label_of[i.partition("/")[0]])
      for i, whole in listed
    ]

  def files(self) -> Sequence[source.File]:
    """By their paths below the folder."""
    return self._files


def builder_class(place: str, options: own_set.Options) -> type[base.Builder]:
  """The builder of a folder's pictures; see `Folder`."""
  root = paths.of(place, "folder")
  if not root.is_dir():
    raise errors.UserError(
      f"folder:{place}: there is no such folder. Expected one with a folder of"
      " pictures for each class."
    )
  name = options.name or _last(place)
  own = Folder(paths.resolved(root), name, f"folder:{place}")
  return labelled.builder_class(own, options.sequences)


def _last(place: str) -> str:
  """The last part of a path as it was written: links are not followed."""
  absolute = os.path.abspath(place) if paths.is_local(place) else place
  name = absolute.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
  return unicodedata.normalize("NFC", name)


def _listed(root: epath.Path) -> tuple[list[tuple[str, str]], list[str]]:
  """(id, path) of every picture by id, and what else lies there, in words."""
  walk = picture_folders.Walk(root, by_stem=False, outside=False)
  pairs = sorted(
    (unicodedata.normalize("NFC", _below(path, root)), os.fspath(path))
    for path in walk.pictures()
    if not folders.is_hidden(path)
  )
  for faults in (walk.faults, walk.loops):
    if faults:
      more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
      raise errors.UserError(f"{faults[0]}{more}")
  own_set.check_distinct([i for i, _ in pairs], f"folder:{root}: the pictures")
  inside = [pair for pair in pairs if "/" in pair[0]]
  counts = {
    "hidden files": walk.hidden,
    "files that are no pictures": sum(walk.other_types.values()),
    "pictures beside the class folders": len(pairs) - len(inside),
  }
  notes = [
    f"{count:,} {kind} left out" for kind, count in counts.items() if count
  ]
  return inside, notes


def _below(path: epath.Path, root: epath.Path) -> str:
  return os.path.relpath(path, root).replace(os.sep, "/")


def _classes(root: epath.Path, listed: Sequence[tuple[str, str]]) -> list[str]:
  """Names of the classes in label order: of their sorted names."""
  there = [
    unicodedata.normalize("NFC", entry.name)
    for entry in paths.scan(root)
    if entry.is_dir() and not entry.name.startswith(".")
  ]
  own_set.check_distinct(there, f"folder:{root}: the classes")
  full = {i.partition("/")[0] for i, _ in listed}
  empty = sorted(set(there) - full)
  if there and {name.casefold() for name in there} <= _SPLITS:
    raise errors.UserError(
      f"folder:{root}: it holds the splits {', '.join(sorted(there))}, not classes:"
      f" name one of them, e.g. folder:{root / sorted(there)[0]}."
    )
  if len(there) < 2:
    raise errors.UserError(
      f"folder:{root}: {len(there)} folders, expected two or more: a folder of"
      " pictures for each class."
    )
  if empty:
    raise errors.UserError(
      f"{root / empty[0]}: a class without a picture"
      + (f" (and {len(empty) - 1} more)" if len(empty) > 1 else "")
      + ". Add pictures, or remove the folder."
    )
  return sorted(there)
