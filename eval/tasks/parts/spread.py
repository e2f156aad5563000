"""Intervals of rows over cells: one draw of whole groups serves all cells."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import table
from robust_tfds.eval.metrics import replicates as replicates_lib
from robust_tfds.eval.metrics import resampling

Key = tuple[str, str, int | None]
_ONE_GROUP = "no interval: all examples are one group"
_NO_SPREAD = "no interval: every draw gives this value"
_NO_INTERVAL = "no interval: undefined in more than 1 of 20 draws"
# Condition -> a cell's metric -> its sums over groups; its replicates.
Totals = Mapping[Condition, Mapping[str, resampling.Totals]]
Replicates = dict[Condition, dict[str, resampling.Replicates]]
CellNumbers = Mapping[Condition, Mapping[str, resampling.Replicates]]


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
  for (condition, metric), one in zip(keys, every):
    out[condition][metric] = one
  return out


def headlines(
  formulas: Callable[..., Mapping[Key, np.ndarray]],
  cells: CellNumbers,
  reference: CellNumbers | None = None,
) -> dict[Key, resampling.Replicates]:
  """Replicates of the numbers over cells.

  Args:
    formulas: `Task.headlines`.
    cells: of one model.
    reference: of the model that normalises, drawn together; None without one.
  """
  return replicates_lib.combine_all(formulas, cells, reference)


def filled(
  row: table.Row,
  totals: Totals,
  numbers: Mapping[Key, resampling.Replicates],
  *,
  baseline: bool = False,
) -> table.Row:
  """A row over cells with its interval and n; one that has them as it is.

  Args:
    row: over the cells of one model.
    totals: of the model's cells.
    numbers: what `headlines` gave of the model.
    baseline: whether the row is of what normalises, normalised by itself: it is 1
      in every draw.
  """
  number = numbers.get((row.metric, row.corruption, row.severity))
  if number is None or row.config or not row.has_value or row.lo is not None:
    return row
  # The value is the row's own: sums in another order end in other last digits.
  lo, hi = number.interval()
  n = row.n or fewest(totals)
  if not np.isfinite([lo, hi]).all():
    return dataclasses.replace(row, n=n).add_note(_NO_INTERVAL)
  if number.groups < 2:
    return dataclasses.replace(row, n=n).add_note(_ONE_GROUP)
  lo, hi = min(float(lo), row.value), max(float(hi), row.value)
  out = dataclasses.replace(row, lo=lo, hi=hi, n=n)
  return out if baseline else without_point(out)


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


def fewest(totals: Totals) -> int:
  """Examples of the cell that has the fewest; each cell's largest number counts."""
  return min(
    max(t.groups.examples for t in of.values()) for of in totals.values() if of
  )
