"""The tidy table: every leaderboard, figure and comparison is a pivot of it.

Columns, in order: model, dataset, config, corruption, severity, metric, value,
lo, hi, n, seed, note, fingerprint. Rates are fractions in [0, 1].

* A cell's own metrics carry its config (`gaussian_noise_3`, or `clean` with an
  empty corruption and severity 0), its corruption and its severity.
* A metric of one corruption over all its severities has an empty config and
  severity.
* A metric of the whole benchmark has an empty corruption as well.
* A value that cannot be had is empty, nan in a `Row`, and its note says why:
  `missing: fog 3, fog 4 (2 of 75)` where cells are not there.

Equal runs write equal bytes: rows are sorted, floats are written with the
shortest text that reads back as the same float64.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import os
import pathlib
from collections.abc import Iterable
from collections.abc import Sequence

from robust_tfds import errors


@dataclasses.dataclass(frozen=True)
class Row:
  """One number with its interval and where it comes from.

  Attributes:
    model: label of the model within the run.
    dataset: dataset name, e.g. `imagenet_c`.
    config: TFDS config of the cell; empty for summaries.
    corruption: corruption's name; empty for clean and for whole benchmarks.
    severity: 1-5, 0 for clean; None for summaries.
    metric: e.g. `error`, `ce`, `mce`; see each task for its metrics.
    value: the number; a fraction where it is a rate; nan where there is none.
    lo: lower end of the 95 % interval, None where none is defined.
    hi: upper end.
    n: examples (or sequences) behind the number; None where it is a ratio.
    seed: the run's seed.
    note: what else is to be known of the number, or why there is none.
    fingerprint: 12 hexadecimal digits over data, seed, weights, preprocessing
      and code (see `eval/results/provenance.py`).
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
    """Whether there is a number; the note says why where there is none."""
    return not math.isnan(self.value)

  def add_note(self, text: str) -> Row:
    """The row with one more note; several are separated by `; `."""
    note = "; ".join(t for t in (self.note, text) if t)
    return dataclasses.replace(self, note=note)


COLUMNS = tuple(f.name for f in dataclasses.fields(Row))
_WITHOUT_NOTE = tuple(c for c in COLUMNS if c != "note")
_FLOATS = ("value", "lo", "hi")
_INTEGERS = ("severity", "n", "seed")


def _text(value: object) -> str:
  if value is None or (isinstance(value, float) and math.isnan(value)):
    return ""
  if isinstance(value, float):
    return repr(float(value))
  return str(value)


def dumps(rows: Iterable[Row]) -> str:
  """The table as CSV text with a header, in the order of the rows."""
  out = io.StringIO()
  writer = csv.writer(out, lineterminator="\n")
  writer.writerow(COLUMNS)
  for row in rows:
    writer.writerow([_text(getattr(row, c)) for c in COLUMNS])
  return out.getvalue()


def write(rows: Iterable[Row], path: str | os.PathLike) -> pathlib.Path:
  """Writes the CSV whole: under a temporary name, then renamed into place."""
  path = pathlib.Path(path)
  temporary = path.with_name(path.name + ".tmp")
  temporary.write_text(dumps(rows), encoding="utf-8")
  os.replace(temporary, path)
  return path


def read(path: str | os.PathLike) -> list[Row]:
  """Reads a table back.

  Raises:
    UserError: a header that is not `COLUMNS`, or a cell of another type; names
      the file, the line and the column.
  """
  path = pathlib.Path(path)
  with path.open(newline="", encoding="utf-8") as f:
    lines = list(csv.reader(f))
  _check_header(path, lines[0] if lines else ())
  return [_parse(path, i, cells) for i, cells in enumerate(lines[1:], 2)]


def _check_header(path: pathlib.Path, header: Sequence[str]) -> None:
  if tuple(header) == COLUMNS:
    return
  if tuple(header) == _WITHOUT_NOTE:
    raise errors.UserError(
      f"{path} is of an earlier robust_tfds: it lacks the column 'note'. Write it"
      f" again: python -m eval.score --predictions={path.parent} --out=FOLDER,"
      " or start its run again, which computes no finished cell twice."
    )
  got = ",".join(header) or "an empty line"
  raise errors.UserError(
    f"{path}, line 1: expected the columns {','.join(COLUMNS)}, got {got}."
  )


def _parse(path: pathlib.Path, line: int, cells: Sequence[str]) -> Row:
  if len(cells) != len(COLUMNS):
    raise errors.UserError(
      f"{path}, line {line}: {len(COLUMNS)} cells expected, got {len(cells)}."
    )
  values: dict = {}
  for column, text in zip(COLUMNS, cells):
    try:
      if column in _FLOATS:
        values[column] = float(text) if text else None
      elif column in _INTEGERS:
        values[column] = int(text) if text else None
      else:
        values[column] = text
    except ValueError as e:
      raise errors.UserError(
        f"{path}, line {line}, column {column!r}: {e}."
      ) from e
  if values["value"] is None:
    values["value"] = math.nan
  return Row(**values)


def select(rows: Iterable[Row], **equal: object) -> list[Row]:
  """Rows whose named columns equal the given values."""
  return [r for r in rows if all(getattr(r, k) == v for k, v in equal.items())]
