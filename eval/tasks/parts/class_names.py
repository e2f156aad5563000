"""Class names: numbers of classes that a table of predictions names.

A class's number is the line of its name in a file (`--classes`), from 0.
Without such a file, and if no label is a number, the names are those of the
data set; for unknown data they are the labels themselves in sorted order, as
folders are numbered.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from robust_tfds import datasets, errors, reading
from robust_tfds.reading import column_files
from robust_tfds.reading.column_files import ColumnFile

EMPTY = -1  # in the place of a class that a cell does not hold
_LARGEST = 2**31  # cells hold int32


@dataclasses.dataclass(frozen=True)
class Classes:
  """The values that a table's class columns may have.

  Attributes:
    dataset: the data set that the classes belong to.
    names: class names in label order; empty if values are only numbers.
    told: whether a number stands for the class of that number.
    count: number of classes; 0 if unknown.
  """

  dataset: str
  names: Sequence[str] = ()
  told: bool = True
  count: int = 0

  @classmethod
  def from_labels(
    cls,
    dataset: str,
    path: epath.Path | None,
    labels: Sequence[str] = (),
    folders: bool = False,
  ) -> Classes:
    """Create the classes of a file's rows.

    Args:
      path: the file that names them, one per line, or None.
      labels: the texts of the true classes, if the file has them.
      folders: whether labels are folder names, even if they are numbers.

    Raises:
      UserError: see `read`, or a number of names other than the set's classes.
    """
    names, told = read(path) if path else (), True
    count = datasets.classes(dataset)
    if names and count not in (0, len(names)):
      raise errors.UserError(
        f"--classes={path}: {len(names)} names, but {dataset} has {count} classes."
      )
    worded = folders or not any(map(_is_number, labels))
    if labels and not names and worded:
      set_names = [
        n[0] for n in datasets.class_or_unknown(dataset).class_names()
      ]
      names, told = (
        tuple(set_names or sorted({*labels} - {""})),
        bool(set_names),
      )
    # Numbers are none where a class is called by one, or they have no numbers.
    told = told and not any(map(_is_number, names))
    return cls(dataset, names, told, count or len(names))

  def column(
    self, file: ColumnFile, name: str, may_be_empty: bool = False
  ) -> np.ndarray:
    """Return a column of classes as int64 `[N]`; `EMPTY` for an empty value.

    Raises:
      UserError: a value that is no class, or empty; the message names the row.
    """
    column = file.texts(name)
    by_name = {name: number for number, name in enumerate(self.names)}
    by_text = {text: self._number(text, by_name) for text in column.values}
    wrong = (None,) if may_be_empty else (None, EMPTY)
    row = column.first(lambda text: by_text[text] in wrong)
    if row is not None:
      raise errors.UserError(
        f"{file.path}: column {name!r}, row {row + 1}"
        f" ({file.texts('example_id').text(row)!r})"
        f"{self._words(column.text(row).strip())}"
      )
    return np.array([*by_text.values()], np.int64)[column.codes]

  def _number(self, text: str, by_name: Mapping[str, int]) -> int | None:
    """Return the class of a value; None if it is none."""
    number = column_files.whole_number(text)
    if not text.strip():
      return EMPTY
    if number is None or not self.told:
      return by_name.get(text.strip(), by_name.get(str(number)))
    return number if 0 <= number < (self.count or _LARGEST) else None

  def _words(self, value: str) -> str:
    """Return a text that says what is wrong with a value."""
    if not value:
      return " is empty; every example needs its class."
    if self.told and column_files.whole_number(value) is not None:
      scope = "Classes are whole numbers from 0."
      if self.count:
        scope = (
          f"{self.dataset} has the classes 0-{self.count - 1}; name other data by"
          " --dataset, other classes by --classes."
        )
      return f": no class {value[:40]}. {scope}"
    if self.names:
      unknown = errors.unknown_error("class", value, self.names)
      return f": {unknown} Other names can be numbered by --classes=FILE."
    return (
      f": got {value[:40]!r}, expected a whole number from 0. Names of classes"
      " need --classes=FILE, one name a line."
    )


def _is_number(value: str) -> bool:
  try:
    float(value.replace(",", "."))
  except ValueError:
    return False
  return True


def read(path: epath.Path) -> tuple[str, ...]:
  """Return the names in a file, one per line, in label order.

  Raises:
    UserError: fewer than two names, an empty line between them, or a duplicate.
  """
  names = [line.strip() for line in reading.line_list(path)]
  while names and not names[-1]:
    names.pop()
  if len(names) < 2:
    raise errors.UserError(
      f"{path}: got {len(names)} names, expected two or more, one a line."
    )
  for number, name in enumerate(names, 1):
    if not name or name in names[: number - 1]:
      wrong = f"{name!r} stands twice" if name else "empty"
      raise errors.UserError(
        f"{path}: line {number}: {wrong}, expected the name of class {number - 1}."
      )
  return tuple(names)
