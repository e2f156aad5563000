"""Rates: the ratio of two, and intervals of single ones."""

from collections.abc import Iterator, Sequence

import numpy as np

from robust_tfds import errors
from robust_tfds.eval.metrics import arguments, intervals, resampling


def ratio(
  part: np.typing.ArrayLike, whole: np.typing.ArrayLike, zero: float = 0.0
) -> np.ndarray:
  """`part / whole`, nan where the whole is not above 0.

  The one rule of all numbers that are divided by another, of values as of draws:
  nothing is a part of nothing, and where what divides lost its sign (a baseline
  that errs less under corruption) more would read as better.

  Args:
    part: `[...]`.
    whole: that divides it, of a shape that goes with it.
    zero: up to which the whole is 0 but for rounding.

  >>> ratio([0.2, 0.2, 0.2], [0.4, 0.0, -0.4])
  array([0.5, nan, nan])
  """
  a, b = np.broadcast_arrays(part, whole)
  undefined = np.full(a.shape, np.nan)
  return np.divide(a, b, out=undefined, where=b > zero)


def interval(
  hits: np.typing.ArrayLike, groups: np.typing.ArrayLike, level: float = 0.95
) -> tuple[float, float]:
  """The interval of the share of hits; see `shares`.

  Args:
    hits: bool or 0/1 `[N]`.
    groups: `[N]`, texts.
    level: coverage in (0, 1).

  Raises:
    UserError: no hits, other values, groups that do not go with them.

  >>> interval([True] * 5 + [False] * 5, list("abcdefghij"))
  (0.18708602844739855, 0.8129139715526015)
  """
  right = arguments.rights("hits", hits)
  if right.shape != np.shape(groups):
    raise errors.UserError(
      f"hits {list(right.shape)} and groups {list(np.shape(groups))} do not go"
      " together."
    )
  ((_, lo, hi),) = shares([resampling.Totals.of(right, groups)], level)
  return lo, hi


def of_classes(right: np.ndarray, label: np.ndarray) -> np.ndarray:
  """Return a value of each example, whose mean is the mean class accuracy.

  Every class that has examples counts alike. The values spread about their mean as
  examples do about the accuracy of their class, so that the interval of a mean
  serves.

  >>> right, label = np.array([True, True, True, False]), np.array([0, 0, 0, 1])
  >>> float(of_classes(right, label).mean())
  0.5

  Args:
    right: bool `[N]`.
    label: int `[N]`.
  """
  _, index, counts = np.unique(label, return_inverse=True, return_counts=True)
  accuracy = np.bincount(index, right) / counts
  weight = len(label) / (len(counts) * counts)
  values: np.ndarray = weight[index] * (right - accuracy[index])
  return values + accuracy.mean()


def shares(
  hits: Sequence[resampling.Totals], level: float = 0.95
) -> list[intervals.Rate]:
  """Shares of hits, (value, lo, hi) of each.

  Where every example is its own group the interval is Clopper and Pearson's, which
  is exact. Where groups are larger it is that of draws of whole groups
  (`Replicates.interval`), the same for all shares. Where all groups are hit, or none
  is, draws say nothing: then a group counts as one trial, Clopper and Pearson's for
  0 or G of G. The ends are nan where more than one draw in twenty has none of a
  share's groups.

  Args:
    hits: bool, summed over groups; of K columns K shares.
    level: coverage in (0, 1).

  Returns:
    In the order of `hits` and of their columns.
  """
  drawn = [of for of in hits if not of.groups.single]
  numbers: Iterator[resampling.Replicates] = iter(())
  if drawn:
    every = np.concatenate([of.groups.ids for of in drawn])
    numbers = iter(resampling.Draws.of(every).of_totals(drawn))
  out = []
  for of in hits:
    number = None if of.groups.single else next(numbers)
    out += _shares(of, number, level)
  return out


def _shares(
  hits: resampling.Totals, number: resampling.Replicates | None, level: float
) -> list[intervals.Rate]:
  """As `shares`, of one; `number` is None where every example is its own group."""
  right, n = np.atleast_1d(hits.sums.sum(axis=0)), hits.groups.examples
  if number is None:
    return intervals.rates(right, n, level)
  groups, alike = len(hits.groups), (right == 0) | (right == n)
  exact = intervals.clopper_pearson(groups * (right > 0), groups, level)
  drawn = np.clip(number.interval(level), 0, 1).reshape(2, -1)
  ends = np.where(alike, exact, drawn)
  return list(zip((right / n).tolist(), *ends.tolist()))
