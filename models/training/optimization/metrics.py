"""metrics.csv: the numbers of a training, one line every so many steps."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from etils import epath

from robust_tfds import errors, reading
from robust_tfds.records import Record
from robust_tfds.storage import disk

if TYPE_CHECKING:
  from models.training.monitoring.tensorboard import Events

FILE = "metrics.csv"
_STEP = "step"


class Pending(Record):
  """The sums over the steps since the last line."""

  sums: dict[str, float]
  count: int


class Metrics:
  """The lines of a training.

  A number is the mean over its steps since the last line.

  Attributes:
    lines: the values by column, one mapping per line, without unmeasured
      values.
  """

  def __init__(self, file: epath.Path | None, events: Events | None = None):
    """Begin without lines; None writes nothing."""
    self._file, self._events = file, events
    self.lines: list[dict[str, Any]] = []
    self._sums: dict[str, float] = {}
    self._count = 0

  def read(self, step: int, pending: Pending) -> None:
    """Read an earlier start's lines up to a step, and the sums that were not a
    line yet.

    Raises:
      UserError: the file does not hold numbers.
    """
    if self._file and disk.exists(self._file):
      lines = _lines(self._file)
      self.lines = [line for line in lines if line[_STEP] <= step]
      if self._events:
        for line in self.lines:
          self._events.line(line, self.seconds - line.get("seconds", 0.0))
    self._sums, self._count = dict(pending.sums), pending.count

  def close(self) -> None:
    """Close the event file."""
    if self._events:
      self._events.close()

  @property
  def seconds(self) -> float:
    """The seconds of training up to the last line."""
    return float(self.lines[-1].get("seconds", 0.0)) if self.lines else 0.0

  @property
  def pending(self) -> Pending:
    """The sums that are not a line yet."""
    return Pending(sums=dict(self._sums), count=self._count)

  def add(self, numbers: Mapping[str, float]) -> None:
    """Add a step's numbers."""
    self._count += 1
    for name, value in numbers.items():
      self._sums[name] = self._sums.get(name, 0.0) + float(value)

  def line(self, step: int, more: Mapping[str, float]) -> dict[str, Any]:
    """Write a line with the means since the last one, and with further numbers."""
    means = {name: total / self._count for name, total in self._sums.items()}
    line = {_STEP: step, **means, **more}
    self._sums, self._count = {}, 0
    self.lines.append(line)
    self._write()
    if self._events:
      self._events.line(line)
    return line

  def _write(self) -> None:
    if not self._file:
      return
    columns = list(dict.fromkeys(name for line in self.lines for name in line))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_as_text, self.lines))
    disk.write_text(self._file, text.getvalue(), sync=False)


def _lines(file: epath.Path) -> list[dict[str, Any]]:
  try:
    return [
      {k: int(v) if k == _STEP else float(v) for k, v in row.items() if v}
      for _, row in reading.csv_file(file, [_STEP])
    ]
  except ValueError as e:
    reason = str(e).removeprefix(f"{file}: ").rstrip(".")
    raise errors.UserError(
      f"{file}: these are not the numbers of a training: {reason}. Remove the file:"
      " the same command then continues without its lines."
    ) from e


def _as_text(line: Mapping[str, Any]) -> dict[str, str]:
  """Format numbers with the digits of a float32."""
  return {
    k: str(v) if isinstance(v, int) else f"{v:.7g}" for k, v in line.items()
  }
