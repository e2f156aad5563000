"""The mean of a number of each example, with an interval over whole groups."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from robust_tfds.eval.metrics import arguments, replicates, resampling


def interval(
  values: np.typing.ArrayLike,
  groups: np.typing.ArrayLike,
  level: float = 0.95,
) -> tuple[float, tuple[float, float] | tuple[None, None]]:
  """The mean over examples, -+ t standard errors of the jackknife over groups.

  One group is left out at a time (Efron and Tibshirani 1993, section 11.5): for a
  mean that is the bootstrap's spread to order 1 / G without its draws, which would
  take seconds for each of a benchmark's cells. t has G - 1 degrees of freedom, with
  G as `resampling.Groups.effective`.

  Args:
    values: finite numbers `[N]`.
    groups: `[N]`, texts: what belongs together.
    level: coverage in (0, 1).

  Returns:
    The mean, and (lo, hi); (None, None) where there is but one group.

  Raises:
    UserError: as `resampling.Totals.of`, or a level outside (0, 1).

  >>> mean, (lo, hi) = interval([1.0, 2.0, 3.0], ["a", "b", "c"])
  >>> mean, round(lo, 4), round(hi, 4)
  (2.0, -0.4841, 4.4841)
  """
  tail = (1 - arguments.level(level)) / 2
  totals = resampling.Totals.of(
    arguments.reals("values", values).astype(np.float64), groups
  )
  of = totals.groups
  whole, n, count = totals.sums.sum(), of.counts.sum(), len(of)
  mean = float(whole / n)
  if count < 2:
    return mean, (None, None)
  without = (whole - totals.sums) / (n - of.counts)
  square = np.square(without - without.mean()).sum()
  error = math.sqrt((count - 1) / count * square)
  half = error * float(stats.t.isf(tail, max(of.effective - 1, 1)))
  return mean, (mean - half, mean + half)


@dataclasses.dataclass(frozen=True, eq=False)
class BlockMeans:
  """A mean without each of some blocks of whole groups, of one cell.

  What the interval of a mean over cells needs of each, in few bytes.

  Attributes:
    ids: of the groups, sorted; equal ids are in equal blocks.
    groups: see `resampling.Groups.effective`.
    left_out: float64 `[J]`.
  """

  ids: np.ndarray
  groups: float
  left_out: np.ndarray

  @classmethod
  def of(
    cls, values: np.typing.ArrayLike, groups: np.typing.ArrayLike
  ) -> BlockMeans:
    """Of a cell.

    Args:
      values: finite numbers `[N]`.
      groups: `[N]`, texts: what belongs together.

    Raises:
      UserError: as `resampling.Totals.of`.
    """
    totals = resampling.Totals.of(arguments.reals("values", values), groups)
    draws = resampling.Draws.of(groups)

    def rest(of_groups: np.ndarray) -> np.ndarray:
      of_blocks = np.bincount(draws.block, of_groups, draws.blocks)
      return of_groups.sum() - of_blocks

    of = totals.groups
    with np.errstate(invalid="ignore"):  # one block: nothing is left
      left_out = rest(totals.sums) / rest(of.counts)
    return cls(of.ids, of.effective, left_out)


def interval_of_cells(
  mean: float, cells: Sequence[BlockMeans]
) -> tuple[float, float] | tuple[None, None]:
  """The interval of a plain mean of cells' means: the same groups in all of them.

  The jackknife's over the blocks, `Replicates.jackknife_interval`.

  Args:
    mean: of the cells' means.
    cells: at least one.

  Returns:
    (lo, hi); (None, None) where the cells are not of the same groups, or of one
    block.
  """
  first = cells[0]
  if any(not np.array_equal(c.ids, first.ids) for c in cells):
    return None, None
  left_out = np.mean([c.left_out for c in cells], axis=0)
  least = min(c.groups for c in cells)
  of = replicates.Replicates(np.array(mean), None, left_out, least)
  lo, hi = of.interval()
  if not np.isfinite([lo, hi]).all():
    return None, None
  return float(lo), float(hi)
