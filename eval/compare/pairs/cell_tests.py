"""A test of every cell, and Holm's adjustment over all cells of a metric.

Right and wrong of examples that are drawn alone: the exact test of McNemar. Whatever
is drawn in groups, or is no right and wrong: paired draws of whole groups. Average
precision: Student's t of the jackknife. A family is what Holm adjusts together: all
cells of a metric that are not clean; where there is the clean cell alone, all of its
metrics.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells.facts import TaskFacts
from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.compare.pairs import lines
from robust_tfds.eval.compare.pairs.lines import Line, Test
from robust_tfds.eval.compare.pairs.numbers import Numbers
from robust_tfds.eval.metrics import replicates, resampling, significance
from robust_tfds.eval.metrics.resampling import Draws, Replicates, Totals

MCNEMAR = "exact McNemar"
BOOTSTRAP = "paired bootstrap of groups"
JACKKNIFE = "jackknife t"
ONLY = "the only condition"
_LEAST = (
  0.01  # p after Holm that the draws of any family have to be able to show
)
_MOST_DRAWS = 10**5
_MOST_COUNTS = 10**9  # draws x groups of one pass


@dataclasses.dataclass(frozen=True)
class _Cell:
  """One number of a cell, of both sides.

  Attributes:
    condition: of the cell.
    metric: its name.
    level: of the number, which may be one of several of its cell.
    first: one number.
    second: one number.
    totals: their sums over groups, `[G]` each; None where there are none.
    n: examples of the cell.
  """

  condition: Condition
  metric: str
  level: int
  first: Replicates
  second: Replicates
  totals: tuple[Totals, Totals] | None
  n: int

  @property
  def exact(self) -> bool:
    """Whether it is of right and wrong, one example a group."""
    if self.totals is None:
      return False
    one, other = self.totals
    right = one.sums.dtype == bool and other.sums.dtype == bool
    return right and one.groups.single

  @property
  def group_differences(self) -> np.ndarray:
    """The difference summed over each group."""
    assert self.totals is not None
    one, other = self.totals
    return one.sums.astype(np.float64) - other.sums

  @property
  def difference(self) -> Replicates:
    """First less second, in every draw."""
    return replicates.combine(np.subtract, self.first, self.second)


def of_cells(numbers: Numbers, facts: TaskFacts) -> list[Line]:
  """The lines of all cells, tested where there is something to test by.

  Args:
    numbers: of the first side and the second.
    facts: of the task.
  """
  cells = _cells(numbers)
  families = _families(cells)
  tested = _tested(cells, families) if numbers.drawn else {}
  out: list[Line | None] = [None] * len(cells)
  for family, members in families.items():
    known = [i for i in members if i in tested]
    adjusted = significance.holm([tested[i][1] for i in known])
    after = dict(zip(known, adjusted.tolist()))
    for i in members:
      out[i] = _line(cells[i], facts, family, tested.get(i), after.get(i))
  return [line for line in out if line is not None]


def _cells(numbers: Numbers) -> list[_Cell]:
  first, second = numbers.cells[:2]
  return [
    cell
    for condition, of in first.items()
    for metric, one in of.items()
    if metric in second[condition]
    for cell in _of_metric(numbers, condition, metric)
  ]


def _of_metric(
  numbers: Numbers, condition: Condition, metric: str
) -> Iterator[_Cell]:
  """One, or one of each level that the cell holds."""
  one, other = (side[condition][metric] for side in numbers.cells[:2])
  sums = [side.get(condition, {}).get(metric) for side in numbers.totals[:2]]
  known = [s for s in sums if s is not None]
  n = known[0].groups.counts.sum() if known else numbers.n[condition]
  for i in range(one.value.shape[0] if one.value.ndim else 1):
    columns = [_column(s, i) for s in known]
    yield _Cell(
      condition,
      metric,
      condition.level + i,
      _at(one, i),
      _at(other, i),
      (columns[0], columns[1]) if len(columns) == 2 else None,
      int(n),
    )


def _at(several: Replicates, i: int) -> Replicates:
  """One of several numbers; the only one where there are no several."""
  if not several.value.ndim:
    return several
  return several.like(several.joined[i])


def _column(totals: Totals, i: int) -> Totals:
  if totals.sums.ndim == 1:
    return totals
  return Totals(totals.groups, totals.sums[:, i])


def _families(cells: Sequence[_Cell]) -> dict[str, list[int]]:
  """Name of a family -> places of its cells, in the order of the cells."""
  clean_alone = all(c.condition.clean for c in cells)
  out: dict[str, list[int]] = {}
  for i, cell in enumerate(cells):
    name = f"{cell.metric}, clean" if cell.condition.clean else cell.metric
    out.setdefault(ONLY if clean_alone else name, []).append(i)
  return out


def _tested(
  cells: Sequence[_Cell], families: Mapping[str, Sequence[int]]
) -> dict[int, tuple[str, float, Number]]:
  """Place of a cell -> its test's kind, p, and the interval."""
  out = {}
  grouped = []
  for i, cell in enumerate(cells):
    if cell.totals is not None and not cell.exact:
      grouped.append(i)
      continue
    difference = cell.difference
    if cell.exact:
      kind, p = MCNEMAR, _mcnemar(cell)
    else:
      kind, p = JACKKNIFE, float(significance.jackknife_p(difference))
    out[i] = kind, p, interval(difference)
  most = max((len(set(f) & set(grouped)) for f in families.values()), default=0)
  for i, (p, ends) in zip(
    grouped, _of_groups([cells[i] for i in grouped], most)
  ):
    out[i] = BOOTSTRAP, p, ends
  return {i: test for i, test in out.items() if math.isfinite(test[1])}


def _mcnemar(cell: _Cell) -> float:
  differences = cell.group_differences
  return float(
    significance.mcnemar((differences > 0).sum(), (differences < 0).sum())
  )


def _of_groups(
  cells: Sequence[_Cell], family: int
) -> list[tuple[float, Number]]:
  """p and interval of differences that are drawn in whole groups.

  Args:
    cells: with totals.
    family: how many of them Holm adjusts together at most.
  """
  if not cells:
    return []
  differences = [
    Totals(cell.totals[0].groups, cell.group_differences)
    for cell in cells
    if cell.totals is not None
  ]
  ids = np.unique(np.concatenate([t.groups.ids for t in differences]))
  effective = min(t.groups.effective for t in differences)
  drawn = Draws.of(
    ids, resamples=_resamples(family, effective, len(ids))
  ).of_totals(differences)
  return [
    (
      float(significance.bootstrap_p(d, int((t.sums != 0).sum()))),
      interval(d),
    )
    for d, t in zip(drawn, differences)
  ]


def _resamples(family: int, effective: float, groups: int) -> int:
  """As many draws as Holm over a family needs to decide anything.

  Args:
    family: how many tests.
    effective: groups of equal size that say as much.
    groups: how many there are: a pass over the draws counts all of them.
  """
  tail = replicates.widened(_LEAST / 2 / family, effective)
  needed = 1 / max(tail, 1 / _MOST_DRAWS)
  most = max(_MOST_COUNTS // groups, resampling.RESAMPLES)
  return int(min(max(needed, resampling.RESAMPLES), most))


def interval(number: Replicates) -> Number:
  """A number with its interval; a single group has none but of nothing."""
  value = float(number.value)
  if number.draws is not None and number.groups < 2:
    return Number.of(value, *((0.0, 0.0) if value == 0 else ()))
  lo, hi = number.interval()
  return Number.of(value, float(lo), float(hi))


def _verdict(sign: int, difference: float) -> str:
  """Of a decided difference of a metric, whose sign is 0 if its sense is unknown."""
  if not sign:
    return lines.UNKNOWN_SENSE
  return lines.BETTER if sign * difference > 0 else lines.WORSE


def _line(
  cell: _Cell,
  facts: TaskFacts,
  family: str,
  tested: tuple[str, float, Number] | None,
  adjusted: float | None,
) -> Line:
  difference = Number.of(float(cell.first.value) - float(cell.second.value))
  test = Test()
  if tested is not None and adjusted is not None:
    kind, p, difference = tested
    verdict = lines.UNDECIDED
    if adjusted <= lines.LEVEL:
      verdict = _verdict(facts.metric(cell.metric).sign, difference.or_nan)
    test = Test(kind, p, adjusted, family, verdict)
  return Line(
    cell.metric,
    cell.condition.name,
    cell.level,
    cell.condition,
    float(cell.first.value),
    float(cell.second.value),
    difference,
    n=cell.n,
    test=test,
    note="" if tested else "no test: values alone",
  )
