"""The tidy table: every leaderboard, figure and comparison is a pivot of it.

Columns, in order: model, dataset, config, corruption, severity, metric, value,
lo, hi, n, seed, note, fingerprint. Rates are fractions in [0, 1].

* A cell's own metrics carry its config (`gaussian_noise_3`, or `clean` with an
  empty corruption and severity 0), its corruption and its severity.
* A metric of one corruption over all its severities has an empty config and
  severity.
* A metric of the whole benchmark has an empty corruption as well.
* A value that cannot be computed is empty, nan in a `Row`, and its note says
why, e.g. `missing: fog 3, fog 4 (2 of 75)` for missing cells.

Equal runs write equal bytes: rows are sorted, floats are written with the
shortest text that reads back as the same float64. Rows are checked when they
are written and when they are read. Text that spreadsheets take for a formula is
marked by an apostrophe (`eval/cells/formulas.py`).
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import os
from collections.abc import Iterable, Sequence

import numpy as np
from etils import epath

from eval.cells import formulas
from eval.cells.number import Number
from robust_tfds import conditions, errors, reading
from robust_tfds.conditions import Condition
from robust_tfds.storage import disk, paths


@dataclasses.dataclass(frozen=True)
class Row:
  """One number with its interval and its provenance.

  Attributes:
    model: label of the model within the run.
    dataset: dataset name, e.g. `imagenet_c`.
    config: TFDS config of the cell; empty for summaries.
    corruption: corruption's name; empty for clean and for whole benchmarks.
    severity: 1-5, 0 for clean; None for summaries.
    metric: e.g. `error`, `ce`, `mce`; see each task for its metrics.
    value: the number; a fraction for a rate; nan if there is none.
    lo: lower end of the 95 % interval, None if none is defined.
    hi: upper end.
    n: number of examples (pictures, sequences, videos); for a number over cells
      that of the cell with the fewest. None if it has no examples.
    seed: the run's seed.
    note: a note on the number, or why there is none.
    fingerprint: 12 hexadecimal digits over data, seed, weights, preprocessing
      and code (see `eval/cells/provenance.py`).
  """

  model: str
  dataset: str
  config: str
  corruption: str
  severity: int | None
  metric: str
  value: float
  lo: float | None = None
  hi: float | None = None
  n: int | None = None
  seed: int = 0
  note: str = ""
  fingerprint: str = ""

  @property
  def has_value(self) -> bool:
    """Whether there is a number; otherwise the note says why not."""
    return not math.isnan(self.value)

  @property
  def is_summary(self) -> bool:
    """Whether it is of the whole benchmark, not of a cell or a condition.

    Of a summary by difficulty that is the first one, the papers' own.
    """
    return (
      not self.config and not self.corruption and self.severity in (None, 1)
    )

  @property
  def number(self) -> Number:
    """The row's value without its provenance columns."""
    value = self.value if self.has_value else None
    return Number(value, self.lo, self.hi, self.n, self.note)

  def add_note(self, text: str) -> Row:
    """Return the row with one more note; several are separated by `; `."""
    note = "; ".join(t for t in (self.note, text) if t)
    return dataclasses.replace(self, note=note)


def group_by_cell(
  rows: Iterable[Row], kind: conditions.Kind = "pictures"
) -> dict[Condition | None, list[Row]]:
  """Group rows by cell, at the cell's own level; None is the key of rows over cells.

  The rows over cells include the harder difficulties of a temporal
  perturbation, whose only cell has all of them.
  """
  out: dict[Condition | None, list[Row]] = {}
  for row in rows:
    cell = None
    if row.config:
      cell = Condition(row.corruption, row.severity or 0, kind)
    own = cell and cell.config == row.config
    out.setdefault(cell if own else None, []).append(row)
  return out


COLUMNS = tuple(f.name for f in dataclasses.fields(Row))
_FLOATS = ("value", "lo", "hi")
_INTEGERS = ("severity", "n", "seed")
_OPTIONAL = ("severity", "lo", "hi", "n")
_ROUNDING = 1e-9  # tolerance of an interval's ends on the wrong side


def dumps(rows: Iterable[Row]) -> str:
  """Return the table as CSV text with a header, in the order of the rows.

  Raises:
    ValueError: an invalid row, which `read` would refuse.
  """
  out = io.StringIO()
  writer = csv.writer(out, lineterminator="\n")
  writer.writerow(COLUMNS)
  for number, row in enumerate(rows, 1):
    wrong = _fault(row)
    if wrong:
      raise ValueError(f"Row {number} of the table, {row}: {wrong}.")
    writer.writerow([_text(getattr(row, c)) for c in COLUMNS])
  return out.getvalue()


def _text(value: object) -> str:
  if value is None or (isinstance(value, float) and math.isnan(value)):
    return ""
  if isinstance(value, float):
    return repr(float(value))
  return formulas.neutral(value) if isinstance(value, str) else str(value)


def _fault(row: Row) -> str:
  """Return a text that says what is wrong with a row; '' if nothing is."""
  for column in COLUMNS:
    wrong = _kind_fault(column, getattr(row, column))
    if wrong:
      return f"column {column!r}: {wrong}"
  if not row.metric:
    return "column 'metric' is empty"
  if not row.has_value and not row.note:
    return "column 'value' is empty, and the note does not say why"
  for column, least in (("severity", 0), ("n", 0), ("seed", 0)):
    number = getattr(row, column)
    if number is not None and number < least:
      return f"column {column!r}: {number}, expected at least {least}"
  return _interval_fault(row)


def _kind_fault(column: str, value: object) -> str:
  if value is None and column in _OPTIONAL:
    return ""
  kind = "text"
  right = isinstance(value, str)
  if column in _INTEGERS:
    kind = "a whole number"
    right = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
  elif column in _FLOATS:
    kind = "a finite number"
    right = isinstance(value, (float, int)) and (
      math.isfinite(value) or (column == "value" and math.isnan(value))
    )
  return "" if right else f"{value!r}, expected {kind}"


def _interval_fault(row: Row) -> str:
  ends = [x for x in (row.lo, row.value, row.hi) if x is not None]
  if not row.has_value:
    return "an interval without a value" if len(ends) > 1 else ""
  slack = _ROUNDING * max(1.0, *map(abs, ends))
  if any(b < a - slack for a, b in zip(ends, ends[1:])):
    return (
      f"lo {row.lo}, value {row.value}, hi {row.hi}: expected lo <= value <= hi"
    )
  return ""


def write(rows: Iterable[Row], path: str | os.PathLike) -> epath.Path:
  """Write the CSV atomically and return its path."""
  place = paths.parse(path)
  disk.write_text(place, dumps(rows))
  return place


def read(path: str | os.PathLike) -> list[Row]:
  """Read a table.

  Raises:
    UserError: no such file or no text; a header that is not `COLUMNS`; a line
      of another length, a cell of another type, an invalid number; the message
      names the file, the line and the column.
  """
  lines = reading.csv_text(reading.text_file(path), str(path))
  _, header = next(lines, (1, []))
  _check_header(paths.parse(path), header)
  return [_parse(f"{path}: line {line}", cells) for line, cells in lines]


def _check_header(path: epath.Path, header: Sequence[str]) -> None:
  if tuple(header) == COLUMNS:
    return
  got = ",".join(header) or "an empty line"
  raise errors.UserError(
    f"{path}: line 1: expected the columns {','.join(COLUMNS)}, got {got}."
  )


def _parse(source: str, cells: Sequence[str]) -> Row:
  if len(cells) != len(COLUMNS):
    raise errors.UserError(
      f"{source}: {len(COLUMNS)} cells expected, got {len(cells)}."
    )
  values: dict = {}
  for column, text in zip(COLUMNS, cells):
    try:
      if column in _FLOATS:
        values[column] = float(text) if text else None
      elif column in _INTEGERS:
        values[column] = int(text) if text else None
      else:
        values[column] = formulas.plain(text)
    except ValueError as e:
      raise errors.UserError(f"{source}, column {column!r}: {e}.") from e
  if values["value"] is None:
    values["value"] = math.nan
  row = Row(**values)
  wrong = _fault(row)
  if wrong:
    raise errors.UserError(
      f"{source}: {wrong}. Tables are written by eval.main and eval.score: write"
      " it again."
    )
  return row


def select(rows: Iterable[Row], **equal: object) -> list[Row]:
  """Return the rows whose named columns equal the given values."""
  return [r for r in rows if all(getattr(r, k) == v for k, v in equal.items())]
