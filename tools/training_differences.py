"""What docs/TRAINING.md shows between trainings: paired differences, and how sure."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy import special

from tools import training_measures, training_runs
from tools.training_runs import Line

LEVEL = 0.95
_WIDTH = 1e-3  # less is three equal counts of digits, and no interval
Rows = Mapping[str, Sequence[Line]]  # name -> its trainings, by seed


@dataclasses.dataclass(frozen=True)
class Difference:
  """A column of a training minus that of another, seed by seed.

  Attributes:
    mean: over the seeds.
    half: of the width of its interval.
  """

  mean: float
  half: float

  @property
  def shown(self) -> bool:
    """Whether the interval is one, and leaves out 0."""
    return _WIDTH < self.half < abs(self.mean)

  def __str__(self) -> str:
    """A table's cell."""
    cell = f"{self.mean:+.2f} ± {self.half:.2f}"
    return f"**{cell}**" if self.shown else f"no difference shown ({cell})"

  def survives(self, level: float, n: int) -> bool:
    """Whether 0 is outside its interval of another level, too; of n seeds."""
    wider = quantile(level, n) / quantile(LEVEL, n)
    return self.shown and wider * self.half < abs(self.mean)

  def holds(self, examples: int) -> bool:
    """Whether 0 stays outside when the chance of the test's examples is added.

    Of a difference d at least that share of the examples has other answers, so its
    variance over n examples is at least d (1 - d) / n.

    Args:
      examples: n, of the test; all columns are in percent.
    """
    d = abs(self.mean) / 100
    chance = (
      100
      * float(special.ndtri((1 + LEVEL) / 2))
      * math.sqrt(max(d * (1 - d), 0) / examples)
    )
    return self.shown and math.hypot(self.half, chance) < abs(self.mean)


@dataclasses.dataclass(frozen=True)
class Comparison:
  """A row of a network minus another.

  Attributes:
    network: of both.
    row: its name.
    beside: the other's name.
    cells: column -> difference.
  """

  network: str
  row: str
  beside: str
  cells: Mapping[str, Difference]


# Network -> comparisons at equal steps, and at equal gradients.
Compared = Mapping[str, tuple[list[Comparison], list[Comparison]]]


def quantile(level: float, n: int) -> float:
  """Student's, of an interval of `level` over n values."""
  return float(special.stdtrit(n - 1, (1 + level) / 2))


def interval(values: Sequence[float]) -> tuple[float, float]:
  """Mean, and half the width of Student's 95 % interval, of one value a seed.

  >>> [round(x, 3) for x in interval([1.0, 2.0, 3.0])]
  [2.0, 2.484]
  """
  n = len(values)
  half = quantile(LEVEL, n) * np.std(values, ddof=1) / math.sqrt(n)
  return float(np.mean(values)), float(half)


def networks(lines: Sequence[Line]) -> dict[str, dict[str, list[Line]]]:
  """Network -> row -> its trainings."""
  out: dict[str, dict[str, list[Line]]] = {}
  for line in lines:
    out.setdefault(line.network, {}).setdefault(line.row, []).append(line)
  return out


def at_equal_steps(
  rows: Rows, measures: training_measures.Measures
) -> list[Comparison]:
  """Minus `standard`, of those that begin as it does and take as many steps."""
  standard = rows[training_runs.STANDARD]
  return [
    _comparison(row, standard, measures)
    for row in rows.values()
    if row is not standard and row[0].times == 1 and not row[0].before
  ]


def at_equal_gradients(
  rows: Rows, measures: training_measures.Measures
) -> list[Comparison]:
  """Minus the `standard` that takes as many gradients, or the next that takes more."""
  once = [row for row in rows.values() if row[0].times == 1]
  return [
    _comparison(row, beside, measures)
    for row in once
    if (beside := _control(row, rows.values()))
  ]


def _comparison(
  row: Sequence[Line],
  beside: Sequence[Line],
  measures: training_measures.Measures,
) -> Comparison:
  """Held out is of the same conditions in both."""
  seen = measures.not_held_out(row[0])
  pairs = [
    (measures.of(one, seen), measures.of(other, seen))
    for one, other in zip(row, beside, strict=True)
  ]
  cells = {
    column: Difference(*interval([a[column] - b[column] for a, b in pairs]))
    for column in measures.names
  }
  return Comparison(row[0].network, row[0].row, beside[0].row, cells)


def _control(
  row: Sequence[Line], rows: Iterable[Sequence[Line]]
) -> Sequence[Line] | None:
  """`standard` that takes as many gradients, or the next that takes more."""
  spent = row[0].spent
  longer = [
    r
    for r in rows
    if r[0].row.startswith(training_runs.STANDARD) and r[0].times >= spent
  ]
  if spent == 1 or not longer:
    return None
  return min(longer, key=lambda r: r[0].times)
