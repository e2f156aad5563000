"""Intervals of numbers over cells: one draw of whole groups serves all cells."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping

import numpy as np

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import cell as cells_lib
from robust_tfds.eval.cells import table
from robust_tfds.eval.metrics import intervals, resampling

AT_LEAST_0, RATE, ANY = (0.0, math.inf), (0.0, 1.0), (-math.inf, math.inf)
_ONE_GROUP = "no interval: all examples are one group"
_NO_SPREAD = "no interval: every draw gives this value"
_NO_INTERVAL = "no interval: undefined in more than 1 of 20 draws"
# Condition -> a cell's metric -> its sums over groups; its replicates.
Totals = Mapping[Condition, Mapping[str, resampling.Totals]]
Replicates = dict[Condition, dict[str, resampling.Replicates]]


def draws_of(
  totals: Iterable[Mapping[str, resampling.Totals]],
) -> resampling.Draws | None:
  """Draws of the groups of all cells; None where there are no totals.

  Args:
    totals: what `Task.totals` gave of each cell of every model.
  """
  groups = {id(t.groups): t.groups.ids for of in totals for t in of.values()}
  if not groups:
    return None
  return resampling.Draws.of(np.concatenate(list(groups.values())))


def of_cells(totals: Totals, draws: resampling.Draws) -> Replicates:
  """Replicates of many cells in one pass over the draws.

  Args:
    totals: what `Task.totals` gave of each cell of one model.
    draws: of the groups of all cells.
  """
  keys = [(c, metric) for c, of in totals.items() for metric in of]
  every = draws.of_totals([totals[c][metric] for c, metric in keys])
  out: Replicates = {c: {} for c in totals}
  for (condition, metric), number in zip(keys, every):
    out[condition][metric] = number
  return out


def interval(
  number: resampling.Replicates, bounds: tuple[float, float] = AT_LEAST_0
) -> tuple[cells_lib.Interval, str]:
  """The interval of a number as rows have it, or why a drawn one has none.

  Args:
    number: of shape `[]`.
    bounds: that no such number exceeds.
  """
  lo, hi = np.clip(number.interval(), *bounds).tolist()
  if not math.isfinite(lo + hi):
    return (None, None), _NO_INTERVAL if number.draws is not None else ""
  if number.draws is not None and number.groups < 2:
    return (None, None), _ONE_GROUP
  return (lo, hi), ""


def rate_row(
  cell: cells_lib.Cell, metric: str, rate: intervals.Rate, n: int
) -> table.Row:
  """A cell's rate with the interval of `rates.shares`, or why it has none.

  Args:
    cell: whose row.
    metric: its name.
    rate: (value, lo, hi); the ends are nan where there is no interval.
    n: examples behind it.
  """
  value, lo, hi = rate
  note = _NO_INTERVAL if math.isnan(lo) else ""
  return without_point(cell.row(metric, value, (lo, hi), n, note=note))


def without_point(row: table.Row, groups: float = math.inf) -> table.Row:
  """A row without an interval of no width, which says nothing of other examples.

  Args:
    row: any.
    groups: that were drawn; a single one gives no interval either.
  """
  if row.lo is None or row.hi is None or not _equal(row.lo, row.hi):
    return row
  note = _ONE_GROUP if groups < 2 else _NO_SPREAD
  return dataclasses.replace(row, lo=None, hi=None).add_note(note)


def _equal(lo: float, hi: float) -> bool:
  """But for the last digits: sums in another order end in others."""
  return math.isclose(lo, hi, rel_tol=1e-12)
