"""`folder:PATH`: pictures of any sizes, in a folder a class.

A folder below the place is a class, and its name the class's; labels follow the
order of the names. Pictures may lie at any depth in it. An example's id is the path
below the place, with slashes and in Unicode's NFC: the same wherever the folder
lies.
"""

import os
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Self

from etils import epath

from robust_tfds import errors
from robust_tfds.building import base, own_set, source
from robust_tfds.reading import column_files, picture_folders, pictures
from robust_tfds.reading import videos as video_files
from robust_tfds.storage import paths
from robust_tfds.user_data import labelled

# What folders are called whose pictures models are judged or chosen on.
_HELD_OUT = frozenset(
  ("test", "tests", "testing", "val", "valid", "validation", "dev")
  + ("eval", "evaluation", "holdout", "heldout")
)
_SPLITS = _HELD_OUT | {"train", "training"}


class Folder(own_set.OwnSet):
  """The pictures of a folder.

  Class attributes:
    noun: what its files are.
    extensions: file extensions by which they are known.
    other: another kind, and by which its files are known.

  Attributes:
    drop_alpha: transparency is left aside; else it is refused.
  """

  kind = "folder"
  is_ordered = False
  reading = {"upright": True}
  drop_alpha = False
  noun: ClassVar[str] = "picture"
  extensions: ClassVar[frozenset[str]] = picture_folders.EXTENSIONS
  other: ClassVar[tuple[str, frozenset[str]]] = (
    "videos",
    video_files.EXTENSIONS,
  )

  def __init__(
    self,
    root: epath.Path,
    name: str,
    where: str,
    labels: str = "",
    *,
    without_classes: bool = False,
  ):
    """List the folder, once.

    Args:
      labels: a table of `path` and `label`; empty: folders are classes.
      without_classes: folders are no classes, and files may lie anywhere.

    Raises:
      UserError: fewer than two classes, a class without pictures, or entries
        that cannot be read or told apart; names the first.
    """
    what = f"{where}: the {self.noun}s"
    inside = not labels and not without_classes
    below, walk = files(root, what, self.extensions, inside=inside)
    kind, extensions = self.other
    if not below and extensions & set(walk.other_types):
      raise errors.UserError(
        f"{where}: it holds {kind}, no {self.noun}s: name {kind}:{root}."
      )
    notes = {
      "hidden files left out": walk.hidden,
      f"files that are no {self.noun}s left out": walk.other_types.total(),
      f"{self.noun}s beside the class folders left out": walk.beside,
    }
    if without_classes:
      classes = [*own_set.WITHOUT_CLASSES]
      class_of = dict.fromkeys(below, classes[0])
      if not below:
        raise errors.UserError(f"{where}: it holds no {self.noun}s.")
    elif labels:
      class_of = self._labels(labels, below, root)
      classes = sorted({*class_of.values()})
      without = len(below) - len(class_of)
      notes[f"{self.noun}s without a label left out"] = without
    else:
      class_of = {i: i.partition("/")[0] for i in below}
      classes = self._classes(root, {*class_of.values()})
    super().__init__(name, where, classes, notes=own_set.counted(notes))
    label_of = {each: label for label, each in enumerate(classes)}
    self._files = [
      source.File(i, path, label=label_of[class_of[i]])
      for i, path in below.items()
      if i in class_of
    ]

  @classmethod
  def from_place(cls, place: str, options: own_set.Options) -> Self:
    """Make the set of a place; raise UserError if it is no folder."""
    root, where = paths.parse(place, "folder"), f"{cls.kind}:{place}"
    if not root.is_dir():
      raise errors.UserError(
        f"{where}: there is no such folder. Expected one with a folder of"
        f" {cls.noun}s for each class."
      )
    name = options.name or picture_folders.name_of(place)
    own = cls(
      paths.resolved(root),
      name,
      where,
      options.labels,
      without_classes=options.without_classes,
    )
    own.drop_alpha = options.drop_alpha
    if options.skip_errors:
      own._files = own.without_broken(own._files)
    return own

  def files(self) -> list[source.File]:
    """Return the files, in the order of their paths below the folder."""
    return self._files

  def file_notes(self, file: source.File) -> Sequence[str]:
    """Return the picture's `pictures.oddities`."""
    shown = picture_folders.printable(file.path)
    return pictures.oddities(file.path, shown, drop_alpha=self.drop_alpha)

  def described(self) -> Sequence[str]:
    """Describe what is done to the files' pixels."""
    return ["upright", *["transparency dropped"] * self.drop_alpha]

  def _labels(
    self, table: str, below: Mapping[str, str], root: epath.Path
  ) -> dict[str, str]:
    """Return id -> class of a table's rows.

    Raises:
      UserError: a file that is not there, that stands twice, or without a
        class; fewer than two classes.
    """
    rows = column_files.column_file(table, required=("path", "label"))
    places, names = rows.texts("path"), rows.texts("label")
    out: dict[str, str] = {}
    for row in range(len(rows)):
      place = os.path.join(root, places.text(row).strip())
      example = picture_folders.example_id(paths.parse(place), root)
      where = f"labels={table}: row {row + 1}: {places.text(row)!r}"
      if example not in below:
        raise errors.UserError(
          f"{where} is no {self.noun} below {root}. Expected a path that begins"
          " there."
        )
      if example in out or not names.text(row).strip():
        fault = "stands twice" if example in out else "has no label"
        raise errors.UserError(
          f"{where} {fault}, expected one class of each {self.noun}."
        )
      out[example] = unicodedata.normalize("NFC", names.text(row).strip())
    if len({*out.values()}) < 2:
      raise errors.UserError(
        f"labels={table}: one class, expected two or more."
      )
    own_set.check_distinct([*{*out.values()}], f"labels={table}: the classes")
    return out

  def _classes(self, root: epath.Path, full: Collection[str]) -> list[str]:
    """Return the names of the classes in label order, which is sorted."""
    where = f"{self.kind}:{root}"
    there = sorted(
      unicodedata.normalize("NFC", entry.name)
      for entry in paths.scan(root)
      if entry.is_dir() and not picture_folders.is_hidden(entry.name)
    )
    own_set.check_distinct(there, f"{where}: the classes")
    if there and {name.casefold() for name in there} <= _SPLITS:
      raise errors.UserError(
        f"{where}: it holds the splits {', '.join(there)}, not classes: name one"
        f" of them, e.g. {where}/{there[0]}."
      )
    if len(there) < 2:
      raise errors.UserError(
        f"{where}: expected two folders or more, one of {self.noun}s for each"
        f" class, got {len(there)}."
      )
    if empty := [name for name in there if name not in full]:
      raise errors.UserError(
        f"{root / empty[0]}: a class without a {self.noun}{_more(empty)}. Add"
        f" {self.noun}s ({' '.join(sorted(self.extensions))}), or remove the"
        " folder."
      )
    return there


def builder_class(place: str, options: own_set.Options) -> type[base.Builder]:
  """Return the builder of a folder's pictures; see `Folder`."""
  return labelled.builder_class(
    Folder.from_place(place, options), options.sequences
  )


def is_held_out(name: str) -> bool:
  """Return whether a folder's name says that models are judged or chosen on it.

  >>> [is_held_out(name) for name in ("Test-set", "val2017", "dev", "contest")]
  [True, True, True, False]
  """
  squeezed = re.sub(r"[\W_]", "", name.casefold())
  word = re.sub(r"(?:set|split|data|images?|pictures?)?\d*$", "", squeezed)
  return word in _HELD_OUT


def files(
  root: epath.Path,
  what: str,
  extensions: Collection[str] = picture_folders.EXTENSIONS,
  inside: bool = False,
) -> tuple[Mapping[str, str], picture_folders.Walk]:
  """List path below the root in Unicode's NFC -> whole path, sorted; and the walk.

  Args:
    what: the files are, for refusals.
    inside: whether only files in its folders count.

  Raises:
    UserError: entries that cannot be read or told apart; names the first.
  """
  walk = picture_folders.Walk(root, extensions, outside=False, inside=inside)
  pairs = sorted(
    (picture_folders.example_id(path, root), os.fspath(path))
    for path in walk.files()
  )
  faults = [
    *walk.faults,
    *(
      f"{loop}: a link to a folder above it. Remove it." for loop in walk.loops
    ),
    *(
      f"{picture_folders.printable(path)}: control characters in its name. Rename it."
      for _, path in pairs
      if not path.isprintable()
    ),
  ]
  if faults:
    raise errors.UserError(f"{faults[0]}{_more(faults)}")
  own_set.check_distinct([i for i, _ in pairs], what)
  return dict(pairs), walk


def _more(named: Collection[str]) -> str:
  """Say how many there are beside the first, which a message names."""
  return f" (and {len(named) - 1} more)" if len(named) > 1 else ""
