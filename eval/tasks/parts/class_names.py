"""Classes by their names, where a table of predictions holds names for numbers.

A class's number is the line of its name in a file (`--classes`), from 0. Without
one, where no label is a number, the names are those of the data set; of data that
nobody knows the labels themselves in sorted order, as folders are numbered.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from robust_tfds import errors, reading
from robust_tfds.reading.column_files import ColumnFile

EMPTY = -(2**62)  # in the place of a class that a cell does not hold
_NONE = EMPTY - 1  # of what is no class
_DIGITS = 18  # numbers of as many are beyond every class, and below 2**62
_WHOLE = re.compile(r"([+-]?\d+)([.,]0*)?", re.ASCII)  # `7`, `7.0`, `7,0`


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
  file: ColumnFile,
  ranks: Sequence[str],
  named: Sequence[str],
  of_set: Sequence[str] = (),
) -> tuple[ColumnFile, Sequence[str]]:
  """A table with numbers for the classes in its cells.

  Args:
    file: with text under `label` and what is predicted.
    ranks: columns of predictions.
    named: the classes in label order, as a file says.
    of_set: the same of a data set; empty where nobody knows.

  Returns:
    The table, `EMPTY` where a prediction is, and the classes' names; none where
    labels are numbers and no file names them.

  Raises:
    UserError: a label that is empty, or a value that is no class; names the row.
  """
  labels = {value.strip() for value in file.texts("label").values}
  names, told = named, True
  if not named and not any(map(_is_number, labels)):
    names, told = of_set or sorted(labels - {""}), bool(of_set)
  by_name = {name: number for number, name in enumerate(names)}
  # Numbers are none where a class is called by one, or nobody numbered them.
  told = told and not any(name.isdigit() for name in names)
  columns = {n: _column(file, n, by_name, told) for n in ("label", *ranks)}
  return dataclasses.replace(file, columns={**file.columns, **columns}), names


def _is_number(value: str) -> bool:
  try:
    float(value.replace(",", "."))
  except ValueError:
    return False
  return True


def _column(
  file: ColumnFile, name: str, by_name: Mapping[str, int], told: bool
) -> np.ndarray:
  """A column as int64 `[N]`."""
  column = file.texts(name)
  numbers = np.array([_number(v.strip(), by_name, told) for v in column.values])
  wrong = (numbers == _NONE) | ((numbers == EMPTY) & (name == "label"))
  rows = np.flatnonzero(wrong[column.codes])
  if rows.size:
    value = column.values[column.codes[rows[0]]].strip()
    raise errors.UserError(
      f"{file.path}: column {name!r}, row {rows[0] + 1}"
      f" ({file.texts('example_id').at(rows[0])!r}){_words(value, by_name)}"
    )
  return numbers[column.codes]


def _number(value: str, by_name: Mapping[str, int], told: bool) -> int:
  """The class of a cell; `_NONE` where it is none, or a number not `told`."""
  whole = _WHOLE.fullmatch(value)
  if not value:
    return EMPTY
  if whole and told:
    return int(whole[1]) if len(whole[1]) < _DIGITS else _NONE
  return by_name.get(whole[1] if whole else value, _NONE)


def _words(value: str, by_name: Mapping[str, int]) -> str:
  """What is wrong with a cell."""
  if not value:
    return " is empty; every example needs its true class."
  if by_name:
    unknown = errors.unknown("class", value, by_name)
    return (
      f": {unknown} Other names, and their numbers, are said by --classes=FILE."
    )
  return (
    f": got {value[:40]!r}, expected a whole number from 0. Names of classes are"
    " numbered by --classes=FILE, a name a line."
  )
