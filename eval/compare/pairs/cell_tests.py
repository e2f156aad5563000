"""A test of every cell, and Holm's adjustment over all cells of a metric.

For right and wrong of independent examples it is the exact test of McNemar. For
grouped examples or other values, the two models' results are exchanged on whole
groups, and p is at least that of the difference's interval. For average
precision it is the p of that interval. A family is what Holm adjusts together:
all corrupted cells of a metric or, if there is only the clean cell, all of its
metrics.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from eval.cells.facts import TaskFacts
from eval.cells.number import Number
from eval.compare.pairs import lines
from eval.compare.pairs.lines import Line, Test
from eval.compare.pairs.numbers import Numbers
from eval.metrics import definitions, replicates, significance
from eval.metrics.resampling import Replicates, Totals
from eval.tasks.headlines import spread
from robust_tfds.conditions import Condition

MCNEMAR = "exact McNemar"
EXCHANGE = "exchange of groups"
JACKKNIFE = "jackknife t"
ONLY = "the only condition"
# Exchanges: enough for Holm over all cells of a benchmark, within what a pass over
# all groups may take.
_MAX_DRAWS, _MIN_DRAWS = 10**5, 2000
_MAX_SIGNS = 10**9  # exchanges x groups


@dataclasses.dataclass(frozen=True)
class _Cell:
  """One number of a cell for both sides.

  Attributes:
    condition: the cell's condition.
    metric: its name.
    level: the number's level, which may be one of several of its cell.
    first: the first side's number.
    second: the second side's number.
    totals: their sums over groups, `[G]` each; None if there are none.
    n: number of examples of the cell.
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
    """Whether it is right and wrong of examples, one per group."""
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
    """The difference first - second, in every draw."""
    return replicates.combine(np.subtract, self.first, self.second)

  @property
  def number(self) -> Number:
    """The difference with its interval."""
    bounds = definitions.any_task_metric(self.metric).bounds
    ends = spread.difference_bounds(bounds)
    return spread.number(self.difference, ends)


def cell_lines(numbers: Numbers, facts: TaskFacts) -> list[Line]:
  """Return the lines of all cells, tested if a test is possible.

  Args:
    numbers: numbers of the first side and the second.
  """
  cells = _cells(numbers)
  families = _families(cells)
  tested = _tested(cells) if numbers.drawn else {}
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
    for condition, metrics in first.items()
    for metric, one in metrics.items()
    if metric in second[condition]
    for cell in _metric_cells(numbers, condition, metric)
  ]


def _metric_cells(
  numbers: Numbers, condition: Condition, metric: str
) -> Iterator[_Cell]:
  """Yield the number, or one for each level that the cell holds."""
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
      _level_number(one, i),
      _level_number(other, i),
      (columns[0], columns[1]) if len(columns) == 2 else None,
      int(n),
    )


def _level_number(several: Replicates, i: int) -> Replicates:
  """Return one of several numbers; the only one if there are not several."""
  if not several.value.ndim:
    return several
  return several.like(several.joined[i])


def _column(totals: Totals, i: int) -> Totals:
  if totals.sums.ndim == 1:
    return totals
  return Totals(totals.groups, totals.sums[:, i])


def _families(cells: Sequence[_Cell]) -> dict[str, list[int]]:
  """Return the places of each family's cells, in the order of the cells."""
  clean_alone = all(c.condition.clean for c in cells)
  out: dict[str, list[int]] = {}
  for i, cell in enumerate(cells):
    name = f"{cell.metric}, clean" if cell.condition.clean else cell.metric
    out.setdefault(ONLY if clean_alone else name, []).append(i)
  return out


def _tested(cells: Sequence[_Cell]) -> dict[int, tuple[str, float, Number]]:
  """Return the test's kind, p, and the interval by place of a cell."""
  out = {}
  for i, cell in enumerate(cells):
    if cell.exact:
      out[i] = MCNEMAR, _mcnemar(cell)
    elif cell.totals is None:
      out[i] = JACKKNIFE, float(significance.interval_p(cell.difference))
  rest = [i for i in range(len(cells)) if i not in out]
  for i, p in zip(rest, _exchanged([cells[i] for i in rest])):
    out[i] = EXCHANGE, p
  return {
    i: (kind, p, cells[i].number)
    for i, (kind, p) in out.items()
    if math.isfinite(p)
  }


def _mcnemar(cell: _Cell) -> float:
  differences = cell.group_differences
  return float(
    significance.mcnemar((differences > 0).sum(), (differences < 0).sum())
  )


def _exchanged(cells: Sequence[_Cell]) -> list[float]:
  """Return p of differences by exchanging groups, the same ones in all cells.

  Args:
    cells: cells with totals; some may have other groups than others.
  """
  if not cells:
    return []
  group_ids = [
    cell.totals[0].groups.ids for cell in cells if cell.totals is not None
  ]
  ids = np.unique(np.concatenate(group_ids))
  differences = np.zeros((len(ids), len(cells)))
  for i, cell in enumerate(cells):
    differences[np.searchsorted(ids, group_ids[i]), i] = cell.group_differences
  exchanges = max(min(_MAX_DRAWS, _MAX_SIGNS // len(ids)), _MIN_DRAWS)
  p = significance.exchange_p(differences, exchanges)
  interval_p = [significance.interval_p(cell.difference) for cell in cells]
  return np.fmax(p, interval_p).tolist()


def _verdict(sign: int, difference: float) -> str:
  """Return the verdict of a significant difference; sign 0 is an unknown direction."""
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
  difference = Number.from_floats(
    float(cell.first.value) - float(cell.second.value)
  )
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
    note=difference.note if tested else "no test: values alone",
  )
