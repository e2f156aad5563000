"""The mean of a number of each example, with an interval over whole groups."""

from __future__ import annotations

import math

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
  totals = resampling.Totals.of(arguments.reals("values", values), groups)
  members = totals.groups
  whole, n, count = totals.sums.sum(), members.counts.sum(), len(members)
  mean = float(whole / n)
  if count < 2:
    return mean, (None, None)
  without = (whole - totals.sums) / (n - members.counts)
  square = np.square(without - without.mean()).sum()
  error = math.sqrt((count - 1) / count * square)
  half = error * float(stats.t.isf(tail, max(members.effective - 1, 1)))
  return mean, (mean - half, mean + half)


def left_out(
  values: np.typing.ArrayLike, groups: np.typing.ArrayLike
) -> replicates.Replicates:
  """The mean over examples, and without each of some blocks of whole groups.

  What the interval of a mean over cells needs of each, in few bytes. Equal sets of
  groups are in equal blocks.

  Args:
    values: finite numbers `[N]`.
    groups: `[N]`, texts: what belongs together.

  Raises:
    UserError: as `resampling.Totals.of`.
  """
  totals = resampling.Totals.of(arguments.reals("values", values), groups)
  draws = resampling.Draws.of(groups)
  members = totals.groups

  def rest(of_groups: np.ndarray) -> np.ndarray:
    of_blocks = np.bincount(draws.block, of_groups, draws.blocks)
    return of_groups.sum() - of_blocks

  with np.errstate(invalid="ignore"):  # one block: nothing is left
    without = rest(totals.sums) / rest(members.counts)
  mean = np.asarray(totals.sums.sum() / members.counts.sum())
  return replicates.Replicates(mean, None, without, members.effective)
