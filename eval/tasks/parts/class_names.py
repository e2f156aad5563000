"""Classes by their names, where a table of predictions holds names for numbers.

A class's number is the line of its name in a file (`--classes`), from 0. Without
one, where no label is a number, the labels' own names in sorted order are the
classes, as folders of classes are numbered.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds import errors, reading
from robust_tfds.reading.column_files import ColumnFile, Texts

_LARGEST = 2**40  # no class; keeps longer numbers within int64
EMPTY = -(2**62)  # in the place of a class that a cell does not hold


def read(path: epath.Path) -> tuple[str, ...]:
  """The names of a file, one a line, in label order.

  Raises:
    UserError: fewer than two, an empty line between them, or a name twice.
  """
  names = [line.strip() for line in reading.line_list(path)]
  while names and not names[-1]:
    names.pop()
  if len(names) < 2:
    raise errors.UserError(
      f"{path}: {len(names)} names, expected one a line of two classes or more."
    )
  for number, name in enumerate(names, 1):
    if not name or name in names[: number - 1]:
      wrong = f"{name!r} stands twice" if name else "empty"
      raise errors.UserError(
        f"{path}: line {number}: {wrong}, expected the name of class {number - 1}."
      )
  return tuple(names)


def numbered(
  file: ColumnFile, columns: Sequence[str], names: Sequence[str]
) -> tuple[ColumnFile, tuple[str, ...]]:
  """A table with numbers for the names in its cells.

  Args:
    file: with `label` and what is predicted; either may be text.
    columns: of predictions, the best one first.
    names: of the classes, in label order; empty: see this file.

  Returns:
    The table, `EMPTY` where a prediction is, and the classes' names; none where
    labels are numbers and nobody named them.

  Raises:
    UserError: a label that is empty, or a value that is no class; names the row.
  """
  label = file.columns["label"]
  own = not names and isinstance(label, Texts) and not _any_number(label)
  if own:
    assert isinstance(label, Texts)
    names = sorted({value.strip() for value in label.values} - {""})
  out = {n: _column(file, n, names, own) for n in ("label", *columns)}
  empty = isinstance(label, Texts) and out["label"] == EMPTY
  if np.any(empty):
    raise errors.UserError(
      f"{_place(file, 'label', int(np.argmax(empty)))} is empty; every example"
      " needs its true class."
    )
  return dataclasses.replace(file, columns={**file.columns, **out}), tuple(
    names
  )


def _any_number(column: Texts) -> bool:
  return any(map(_is_number, column.values))


def _is_number(value: str) -> bool:
  try:
    float(value.replace(",", "."))
  except ValueError:
    return False
  return True


def _column(
  file: ColumnFile, name: str, names: Sequence[str], own: bool
) -> np.ndarray:
  """A column as int64 `[N]`."""
  column = file.columns[name]
  by_name = {name: number for number, name in enumerate(names)}
  if isinstance(column, np.ndarray):
    if own:
      raise errors.UserError(
        f"{file.path}: column 'label' holds names of classes, {name!r} numbers:"
        " say which class is which number by --classes=FILE, a name a line."
      )
    if not any(name.isdigit() for name in names):
      return column
    column = Texts.of(column.astype(np.str_).tolist())
  if not names:
    return _numbers(file, name, column)
  codes = np.array([_number(v.strip(), by_name) for v in column.values])
  unknown = codes < EMPTY
  if unknown.any():
    wrong = unknown[column.codes]
    row = int(np.argmax(wrong))
    hint = " Names that no label has are known by --classes=FILE." * own
    raise errors.UserError(
      f"{_place(file, name, row)}:"
      f" {errors.unknown('class', column.values[column.codes[row]], names)}{hint}"
    )
  return codes[column.codes]


def _number(value: str, by_name: dict[str, int]) -> int:
  """The class of a cell; below `EMPTY` where it is none."""
  if not value:
    return EMPTY
  # A number is one where no class is called by a number.
  if value.isdecimal() and not any(name.isdigit() for name in by_name):
    return min(int(value), _LARGEST)
  return by_name.get(value, EMPTY - 1)


def _numbers(file: ColumnFile, name: str, column: Texts) -> np.ndarray:
  """Of text that nothing but empty cells keeps from being numbers."""
  filled = [value if value.strip() else "0" for value in column.values]
  texts = dataclasses.replace(column, values=filled)
  whole = dataclasses.replace(file, columns={name: texts})
  try:
    numbers = whole.numbers(name)
  except errors.UserError as e:
    raise errors.UserError(
      f"{e} Names of classes are numbered by --classes=FILE, a name a line."
    ) from e
  empty = np.array([not value.strip() for value in column.values])
  return np.where(empty[column.codes], EMPTY, numbers)


def _place(file: ColumnFile, name: str, row: int) -> str:
  ids = file.texts("example_id")
  example = ids.values[ids.codes[row]]
  return f"{file.path}: column {name!r}, row {file.row(row)} ({example!r})"
