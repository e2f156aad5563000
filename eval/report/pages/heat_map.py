"""Heat maps as HTML tables: entries x conditions, cell background by value.

The background repeats the number in ten steps from weak (good) to strong (bad) that
also differ in grey. `board.css` has their colours.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence

from eval.cells.number import Number
from eval.compare.boards.board import Entry
from eval.metrics.definitions import Metric
from eval.tables import numbers as numbers_lib

STEPS = 10
_BEYOND = 2.0


@dataclasses.dataclass(frozen=True)
class Column:
  """A column of a heat map.

  Attributes:
    key: unique in the map.
    heading: above it.
    name: its corruption; equal neighbours share a heading.
    level: its condition's level; empty: over all levels.
    group: the corruption's family.
  """

  key: str
  heading: str
  name: str = ""
  level: str = ""
  group: str = ""


@dataclasses.dataclass(frozen=True)
class HeatMap:
  """A table of numbers on coloured backgrounds.

  Attributes:
    id: id of the table, unique on its page.
    label: label of the box in which it scrolls.
    caption: what it shows.
    metric: metric of all numbers.
    columns: from left to right.
    numbers: entries from top to bottom, each with a number per column.
  """

  id: str
  label: str
  caption: str
  metric: Metric
  columns: Sequence[Column]
  numbers: Sequence[tuple[Entry, Sequence[Number | None]]]

  @property
  def rows(self) -> list[tuple[Entry, list[tuple[int | None, str]]]]:
    """The entries, each with the step (0 to 9, or None) and text per column."""
    return [
      (entry, [(self.step(n), numbers_lib.short(self.metric, n)) for n in row])
      for entry, row in self.numbers
    ]

  @functools.cached_property
  def values(self) -> list[float]:
    """All values, ascending."""
    every = (numbers_lib.value_of(n) for _, row in self.numbers for n in row)
    return sorted(value for value in every if value is not None)

  @functools.cached_property
  def range(self) -> tuple[float, float]:
    """The least value, and the largest that is not an outlier.

    Ratios to a baseline have no upper bound: one of them could leave all others
    the same background. An outlier is more than twice the third quartile.
    """
    if not self.values:
      return 0.0, 0.0
    limit = math.inf
    if self.metric.normalises:
      limit = _BEYOND * self.values[3 * len(self.values) // 4]
    return self.values[0], max(v for v in self.values if v <= limit)

  @property
  def ends(self) -> tuple[str, str]:
    """The numbers of the weakest and of the strongest background, as text."""
    least, most = (
      numbers_lib.short(self.metric, Number(v)) for v in self.range
    )
    if self.values and self.values[-1] > self.range[1]:
      top = numbers_lib.short(self.metric, Number(self.values[-1]))
      most = f"{most} and more, to {top},"
    return (most, least) if self.metric.higher_is_better else (least, most)

  @property
  def end_words(self) -> tuple[str, str]:
    """The names of the scale's ends: `least` and `most` if neither is better."""
    return ("best", "worst") if self.metric.sign else ("least", "most")

  @property
  def stronger(self) -> str:
    """The meaning of a stronger background."""
    return "worse" if self.metric.sign else "more"

  @property
  def groups(self) -> list[tuple[str, int]]:
    """(name, number of columns) of shared headings; [] if none is shared."""
    spans = [
      (name, len(list(columns)))
      for name, columns in itertools.groupby(self.columns, lambda c: c.name)
    ]
    return [] if len(spans) == len(self.columns) else spans

  def step(self, number: Number | None) -> int | None:
    """Return the step from 0, the best, to 9; None without a number."""
    value = numbers_lib.value_of(number)
    if value is None:
      return None
    least, most = self.range
    span = most - least
    part = (value - least) / span if span else 0.0
    if self.metric.higher_is_better:
      part = 1 - part if span else 0.0
    return max(min(int(part * STEPS), STEPS - 1), 0)
