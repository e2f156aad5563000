"""Rates: ratios of two numbers, and intervals of single shares."""

from collections.abc import Iterator, Sequence

import numpy as np

from eval.metrics import arguments, intervals, resampling
from robust_tfds import errors


def ratio(
  part: np.typing.ArrayLike, whole: np.typing.ArrayLike, zero: float = 0.0
) -> np.ndarray:
  """Compute `part / whole`, nan where the whole is not above 0.

  This is the rule for all ratios, of values and of draws: a share of nothing is
  undefined, and if the divisor changed its sign (a baseline that errs less
  under corruption) more would read as better.

  Args:
    part: the numerator, `[...]`.
    whole: the denominator, of a broadcastable shape.
    zero: a whole up to this is 0 except for rounding.

  >>> ratio([0.2, 0.2, 0.2], [0.4, 0.0, -0.4])
  array([0.5, nan, nan])
  """
  a, b = np.broadcast_arrays(part, whole)
  undefined = np.full(a.shape, np.nan)
  return np.divide(a, b, out=undefined, where=b > zero)


def interval(
  hits: np.typing.ArrayLike, groups: np.typing.ArrayLike, level: float = 0.95
) -> tuple[float, float]:
  """Compute the interval of the share of hits; see `shares`.

  Args:
    hits: bool or 0/1 `[N]`.
    groups: `[N]`, texts.
    level: coverage in (0, 1).

  Raises:
    UserError: there are no hits, values are not bool or 0/1, or the groups do
      not match them.

  >>> interval([True] * 5 + [False] * 5, list("abcdefghij"))
  (0.18708602844739855, 0.8129139715526015)
  """
  right = arguments.rights("hits", hits)
  if right.shape != np.shape(groups):
    raise errors.UserError(
      f"hits {list(right.shape)} and groups {list(np.shape(groups))} do not go"
      " together."
    )
  ((_, lo, hi),) = shares([resampling.Totals.from_values(right, groups)], level)
  return lo, hi


def class_balanced(right: np.ndarray, label: np.ndarray) -> np.ndarray:
  """Return a value of each example, whose mean is the mean class accuracy.

  Every class that has examples counts alike. The values spread about their mean as
  examples do about the accuracy of their class, so that the interval of a mean
  serves.

  >>> right, label = np.array([True, True, True, False]), np.array([0, 0, 0, 1])
  >>> float(class_balanced(right, label).mean())
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
  """Compute shares of hits, (value, lo, hi) each.

  If every example is its own group, the interval is Clopper and Pearson's,
  which is exact. For larger groups it is that of draws of whole groups
  (`Replicates.interval`), the same draws for all shares. If all groups are hit,
  or none is, draws say nothing: then a group counts as one trial, with Clopper
  and Pearson's interval for 0 or G of G. The ends are nan if more than one draw
  in twenty has none of a share's groups.

  Args:
    hits: bool values summed over groups; K columns give K shares.
    level: coverage in (0, 1).

  Returns:
    The shares in the order of `hits` and of their columns.
  """
  drawn = [total for total in hits if not total.groups.single]
  numbers: Iterator[resampling.Replicates] = iter(())
  if drawn:
    every = np.concatenate([total.groups.ids for total in drawn])
    numbers = iter(resampling.Draws.from_groups(every).total_means(drawn))
  out = []
  for total in hits:
    number = None if total.groups.single else next(numbers)
    out += _shares(total, number, level)
  return out


def _shares(
  hits: resampling.Totals, number: resampling.Replicates | None, level: float
) -> list[intervals.Rate]:
  """Compute the shares of one condition.

  `number` is None if every example is its own group.
  """
  right, n = np.atleast_1d(hits.sums.sum(axis=0)), hits.groups.examples
  if number is None:
    return intervals.rates(right, n, level)
  groups, degenerate = len(hits.groups), (right == 0) | (right == n)
  exact = intervals.clopper_pearson(groups * (right > 0), groups, level)
  drawn = np.clip(number.interval(level), 0, 1).reshape(2, -1)
  ends = np.where(degenerate, exact, drawn)
  return list(zip((right / n).tolist(), *ends.tolist()))
