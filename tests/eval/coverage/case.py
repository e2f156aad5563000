"""`Case`: a population, and the intervals of a data set that is drawn from it."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eval.cells import table
from eval.cells.cell import Cell
from eval.tasks import base
from tests.eval.coverage import cases


class Interval(NamedTuple):
  """A printed number.

  Attributes:
    value: the estimate.
    lo: lower end of its interval; None where it has none.
    hi: upper end.
  """

  value: float
  lo: float | None
  hi: float | None


@dataclasses.dataclass(frozen=True)
class Case:
  """A population and what is printed of a data set of it.

  Attributes:
    data: how the data sets are, in words.
    truth: () -> number's name -> its value in the population.
    intervals: of one data set, drawn by a generator: number's name -> interval.
    least: the share of intervals that cover, which the case promises.
    sets: how many data sets the page has at least.
  """

  data: str
  truth: Callable[[], Mapping[str, float]]
  intervals: Callable[[np.random.Generator], Mapping[str, Interval]]
  least: float = 0.93
  sets: int = 200


@dataclasses.dataclass
class Tally:
  """What became of a number of some data sets.

  Attributes:
    truth: the population's.
    sets: how many data sets.
    absent: that have no interval.
    below: whose interval lies below the truth.
    above: whose interval lies above it.
    mean: of the estimates.
  """

  truth: float
  sets: int = 0
  absent: int = 0
  below: int = 0
  above: int = 0
  mean: float = 0.0

  def add(self, of: Interval) -> None:
    """One data set's."""
    self.sets += 1
    self.mean += (of.value - self.mean) / self.sets
    if of.lo is None or of.hi is None or np.isnan([of.lo, of.hi]).any():
      self.absent += 1
    else:
      self.below += bool(of.hi < self.truth)
      self.above += bool(of.lo > self.truth)

  @property
  def coverage(self) -> float:
    """The share of the intervals that hold the truth; nan of none."""
    there = self.sets - self.absent
    return 1 - (self.below + self.above) / there if there else float("nan")


def run(case: Case, sets: int, seed: int = 0) -> dict[str, Tally]:
  """Number's name -> tally, of some data sets of a case."""
  out = {name: Tally(value) for name, value in case.truth().items()}
  for number in range(sets):
    listed = case.intervals(np.random.default_rng([seed, number]))
    for name, tally in out.items():
      tally.add(listed[name])
  return out


def lowest(share: float, sets: int) -> float:
  """What chance leaves of a share: 2.5 standard errors of some sets less."""
  return share - 2.5 * float(np.sqrt(share * (1 - share) / sets))


def topics() -> dict[str, tuple[Case, ...]]:
  """The cases of every file of `cases`, by its name."""
  names = sorted(m.name for m in pkgutil.iter_modules(cases.__path__))
  return {
    name: importlib.import_module(f"{cases.__name__}.{name}").CASES
    for name in names
  }


def light(
  task: base.Task,
  fields: Mapping[str, Mapping[str, object]],
  metrics: Sequence[str],
  whole: Callable[[Cell], bool] = lambda cell: cell.condition.clean,
) -> None:
  """Makes a task leave out what a case does not count, most of the time it takes.

  Args:
    task: that gives from now on the headlines of `fields` alone.
    fields: as of `of_rows`.
    metrics: of other cells than `whole`, whose rows have no values from now on.
    whole: the cells whose rows stay.
  """
  rows, headlines = task.cell_rows, task.headlines
  keys = {(of["metric"], of.get("corruption", "")) for of in fields.values()}

  def few_rows(cell, columns, truth=None):
    if whole(cell):
      return rows(cell, columns, truth)
    n = len(columns["group_id"])
    return [cell.row(metric, np.nan, n=n) for metric in metrics]

  def few_headlines(cells, reference):
    listed = headlines(cells, reference)
    return [h for h in listed if (h.metric, h.name) in keys]

  task.cell_rows, task.headlines = few_rows, few_headlines


def of_rows(
  rows: Iterable[table.Row], fields: Mapping[str, Mapping[str, object]]
) -> dict[str, Interval]:
  """Intervals of a table.

  Args:
    rows: of the table.
    fields: number's name -> what its row has: `metric`, `corruption`, ...

  Raises:
    ValueError: a number that no row is of, or more than one.
  """
  listed = list(rows)
  out = {}
  for name, which in fields.items():
    (row,) = [
      r for r in listed if all(getattr(r, k) == v for k, v in which.items())
    ]
    out[name] = Interval(row.value, row.lo, row.hi)
  return out
