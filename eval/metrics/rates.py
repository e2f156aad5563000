"""Rates: the ratio of two, and intervals of single ones."""

from __future__ import annotations

import numpy as np

from robust_tfds import errors
from robust_tfds.eval.metrics import arguments, intervals, resampling


def ratio(
  part: np.typing.ArrayLike, whole: np.typing.ArrayLike, zero: float = 0.0
) -> np.ndarray:
  """`part / whole`, nan where the whole is 0 or nan.

  Args:
    part: `[...]`.
    whole: that divides it, of a shape that goes with it.
    zero: what the whole may differ from 0 by and be 0.

  >>> ratio([0.2, 0.2], [0.4, 0.0])
  array([0.5, nan])
  """
  a, b = np.broadcast_arrays(part, whole)
  undefined = np.full(a.shape, np.nan)
  return np.divide(a, b, out=undefined, where=np.abs(b) > zero)


def interval(
  hits: np.typing.ArrayLike,
  groups: np.typing.ArrayLike,
  level: float = 0.95,
) -> tuple[float, float]:
  """The interval of the share of hits.

  Where every example is its own group it is Clopper and Pearson's, which is exact.
  Where groups are larger it is that of draws of whole groups
  (`Replicates.interval`). Where all groups are hit, or none is, draws say nothing:
  then a group counts as one trial, Clopper and Pearson's for 0 or G of G.

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
  of = resampling.Groups.of(groups)
  n = len(right)
  if right.shape != of.index.shape:
    raise errors.UserError(
      f"hits {list(right.shape)} and groups [{len(of.index)}] do not go together."
    )
  if of.single:
    ends = intervals.clopper_pearson(int(right.sum()), n, level)
  elif right.all() or not right.any():
    ends = intervals.clopper_pearson(len(of) * bool(right[0]), len(of), level)
  else:
    ends = resampling.Draws.of(groups).means(right, groups).interval(level)
  return float(ends[0]), float(ends[1])
