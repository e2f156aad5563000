"""Intervals of numbers: one draw of whole groups serves all cells.

`number` is the only rule of whether a number has an interval, why not, and
where it is cut: rows, boards and comparisons all use it.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping

import numpy as np

from eval.cells import cell as cells_lib
from eval.cells import table
from eval.cells.number import Number
from eval.metrics import intervals, resampling
from robust_tfds.conditions import Condition

Bounds = tuple[float, float]
ALONE = "no interval: values alone"
_ONE_GROUP = "no interval: all examples are one group"
_NO_SPREAD = "no interval: every draw gives this value"
_NO_INTERVAL = "no interval: undefined in more than 1 of 20 draws"
_NO_BLOCK = "no interval: undefined without some of the groups"
_ROUNDING = 1e-9  # tolerance of a mean beyond the limits of its numbers
# Condition -> a cell's metric -> its sums over groups; its replicates.
Totals = Mapping[Condition, Mapping[str, resampling.Totals]]
Replicates = dict[Condition, dict[str, resampling.Replicates]]


def draws_of(
  totals: Iterable[Mapping[str, resampling.Totals]],
) -> resampling.Draws | None:
  """Return draws of the groups of all cells; None if there are no totals.

  Args:
    totals: the result of `Task.totals` for each cell of every model.
  """
  groups = {
    id(t.groups): t.groups.ids for metrics in totals for t in metrics.values()
  }
  if not groups:
    return None
  return resampling.Draws.from_groups(np.concatenate(list(groups.values())))


def cell_replicates(totals: Totals, draws: resampling.Draws) -> Replicates:
  """Return the replicates of many cells from one pass over the draws.

  Args:
    totals: the result of `Task.totals` for each cell of one model.
    draws: draws of the groups of all cells.
  """
  keys = [(c, metric) for c, metrics in totals.items() for metric in metrics]
  every = draws.total_means([totals[c][metric] for c, metric in keys])
  out: Replicates = {c: {} for c in totals}
  for (condition, metric), number in zip(keys, every):
    out[condition][metric] = number
  return out


def number(
  replicates: resampling.Replicates,
  bounds: Bounds,
  *,
  keeps_points: bool = False,
  percentiles: bool = False,
) -> Number:
  """Return a number with its intervals, or with a note why it has none.

  Args:
    replicates: the number's, of shape `[]`.
    bounds: least and largest possible value (`Metric.bounds`): intervals end
      there.
    keeps_points: whether an interval of no width is kept. Only numbers that are
      1 by definition do: models that agree on these examples may differ on
      others.
    percentiles: see `Replicates.interval`.

  Raises:
    ValueError: a value out of bounds.
  """
  value = float(replicates.value)
  least, most = bounds
  if not (math.isnan(value) or least - _ROUNDING <= value <= most + _ROUNDING):
    raise ValueError(f"A number is {value}, expected one in [{least}, {most}].")
  why = "" if math.isnan(value) else _why_none(replicates, keeps_points)
  if why or math.isnan(value):
    return dataclasses.replace(Number.from_floats(value), note=why)
  lo, hi = np.clip(replicates.interval(percentiles=percentiles), *bounds)
  t = np.clip(replicates.jackknife_interval(), *bounds).tolist()
  jackknife = None if replicates.draws is None else (t[0], t[1])
  return dataclasses.replace(
    Number.from_floats(value, lo, hi), jackknife=jackknife
  )


def bounded_difference(
  difference: Number, first: table.Row, second: table.Row
) -> Number:
  """Return the difference of two rates of different groups, bounded by its terms.

  Its interval reaches at least as far as that of either term, which is valid
  where draws are not (a rate of 1), and at most as far as both together. If
  draws give none, it is the interval of Zou and Donner (2008).

  Args:
    difference: the number, from `number`.
    first: the term's row with its interval.
    second: the row of the subtracted term.
  """
  if difference.value is None:
    return difference
  terms = []
  for row in (first, second):
    if row.lo is None or row.hi is None:
      return Number(
        difference.value, note=f"no interval: {row.metric} has none"
      )
    terms.append((row.value - row.lo, row.hi - row.value))
  (below, above), (less_below, less_above) = terms
  ends = []
  for end, *reach in (
    (difference.lo, below, less_above),
    (difference.hi, above, less_below),
  ):
    drawn = math.hypot(*reach) if end is None else abs(difference.value - end)
    ends.append(min(max(drawn, *reach), sum(reach)))
  return Number(
    difference.value, difference.value - ends[0], difference.value + ends[1]
  )


def difference_bounds(bounds: Bounds) -> Bounds:
  """Return the bounds of the difference of two numbers with these bounds."""
  least, most = bounds
  return least - most, most - least


def _why_none(replicates: resampling.Replicates, keeps_points: bool) -> str:
  """Return why a number has no interval; '' if it has one."""
  if not replicates.blocks:
    return ALONE
  if replicates.blocks < 2:
    return _ONE_GROUP
  lo, hi = replicates.interval()
  if not math.isfinite(lo + hi):
    return _NO_BLOCK if replicates.enough_draws else _NO_INTERVAL
  return _NO_SPREAD if _equal(lo, hi) and not keeps_points else ""


def number_row(
  cell: cells_lib.Cell,
  metric: str,
  replicates: resampling.Replicates,
  bounds: Bounds,
  n: int,
) -> table.Row:
  """Return the row of a cell's number with its interval, or why it has none.

  Args:
    replicates: the number's, of shape `[]`.
    bounds: see `number`.
    n: number of examples.
  """
  shown = number(replicates, bounds)
  value, ends = float(replicates.value), (shown.lo, shown.hi)
  return cell.row(metric, value, ends, n, note=shown.note)


def rate_row(
  cell: cells_lib.Cell, metric: str, rate: intervals.Rate, n: int
) -> table.Row:
  """Return the row of a cell's rate with its interval, or why it has none.

  Args:
    rate: (value, lo, hi) of `rates.shares`; the ends are nan without an
      interval.
    n: number of examples.
  """
  value, lo, hi = rate
  note = _NO_INTERVAL if math.isnan(lo) else ""
  return without_point(cell.row(metric, value, (lo, hi), n, note=note))


def without_point(row: table.Row) -> table.Row:
  """Remove the interval of a row if its width is 0, which says nothing."""
  if row.lo is None or row.hi is None or not _equal(row.lo, row.hi):
    return row
  return dataclasses.replace(row, lo=None, hi=None).add_note(_NO_SPREAD)


def _equal(lo: float, hi: float) -> bool:
  """Return whether two numbers are equal up to the rounding of sums."""
  return math.isclose(lo, hi, rel_tol=1e-12)
