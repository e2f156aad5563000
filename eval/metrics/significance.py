"""Significance of differences between models; arrays in, floats out.

There are tests of each cell, Holm's adjustment over all of them, and the ranks
that pairs of models decide. All tests are two-sided and compare models on the
same examples.
"""

from typing import Any

import numpy as np
from scipy import special

from eval.metrics import arguments, rates
from eval.metrics.replicates import Replicates
from robust_tfds import errors

_DIGITS = 1e-12  # relative change of a sum by its order
_SIGNS_AT_ONCE = 2**22  # 32 MiB of float64
_LARGEST_COUNT = 2**31 - 1  # limit of scipy's binomial tail


def mcnemar(
  only_first: np.typing.ArrayLike, only_second: np.typing.ArrayLike
) -> Any:
  """Test pairs of right and wrong results by the exact test of McNemar (1947).

  Of the b + c examples that one model alone has right, b are the first's: under
  equal models b is binomial with n = b + c and chance 1 / 2. p = min(1, 2 P(X
  <= min(b, c))), and 1 if no example distinguishes the models. Examples that
  both have right or both have wrong do not enter. Examples have to be
  independent: for clustered ones use `exchange_p` on whole groups.

  Args:
    only_first: number of examples that only the first has right; any shape.
    only_second: number of examples that only the second has right; broadcast.

  Returns:
    p, float64 of the broadcast shape; a number for numbers.

  Raises:
    UserError: a value is no count, or the shapes do not match.

  >>> round(float(mcnemar(1, 9)), 6)  # 2 (1 + 10) / 2 ** 10
  0.021484
  >>> float(mcnemar(0, 0)), float(mcnemar(4, 4))
  (1.0, 1.0)
  """
  b, c = _pairs(only_first, only_second)
  least, n = np.minimum(b, c), (b + c).astype(np.int64)
  twice = 2 * special.bdtr(least, n, 0.5)
  return np.where(n == 0, 1.0, np.minimum(twice, 1.0))[()]


def exchange_p(
  differences: np.typing.ArrayLike, exchanges: int, seed: int = 0
) -> np.ndarray:
  """Compute the two-sided p of differences between two models, group by group.

  If the models were equal, exchanging their results on any group would change
  only the sign of its difference (Fisher 1935, section 21; scipy's
  `permutation_test` of samples). Among random exchanges of whole groups, the
  same in all columns, p is the share whose sum is as far from 0, (1 + #) / (1 +
  exchanges), and never below 2 ** (1 - d) if d groups distinguish the models:
  few groups, above all a single one, decide nothing. For single right and wrong
  examples it equals that of `mcnemar` up to chance.

  Args:
    differences: `[groups]` or `[groups, numbers]`, summed over each group.
    exchanges: number of exchanges, at least 1.

  Returns:
    float64 `[]` or `[numbers]`.

  Raises:
    UserError: a value is no number.

  >>> float(exchange_p([0.3] * 5, 99))  # 2 / 2 ** 5
  0.0625
  """
  given = arguments.reals("differences", differences)
  flat = given.reshape(len(given), -1)
  exchanges = arguments.whole_number("exchanges", exchanges, 1)
  rng = np.random.default_rng(seed)
  least = np.abs(flat.sum(axis=0)) - _DIGITS * np.abs(flat).sum(axis=0)
  as_far = np.ones(flat.shape[1])
  at_once = max(1, _SIGNS_AT_ONCE // max(len(flat), 1))
  for start in range(0, exchanges, at_once):
    rows = min(at_once, exchanges - start)
    heads = rng.integers(0, 2, (rows, len(flat)), np.int8)
    as_far += (np.abs((2.0 * heads - 1) @ flat) >= least).sum(axis=0)
  least_p = np.exp2(1.0 - np.count_nonzero(flat, axis=0))
  p = np.maximum(as_far / (exchanges + 1), least_p)
  return np.minimum(p, 1).reshape(given.shape[1:])[()]


def interval_p(difference: Replicates) -> Any:
  """Compute the two-sided p of a difference: 1 less the level whose interval ends at 0.

  So p <= 0.05 if `Replicates.interval` excludes 0: it is the larger p of (value
  - bias)
  / se and of its Hall correction, by Student's t with J - 1 degrees of freedom,
  or the
  number of groups less one if there are fewer groups than blocks; 1 if the bias
  exceeds
  the difference. Average precision has no other test. If no left-out block
  changes
  anything, p is 1 for a difference of 0, else 2 ** (1 - J) as in `exchange_p`;
  a single
  block decides nothing.

  Returns:
    p, float64 of the shape; a number for one difference; nan where the
    difference is nan.
  """
  value, blocks = difference.value, difference.blocks
  error = np.asarray(difference.standard_error)
  with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
    x = (value - difference.bias) / error
    corrected = difference.without_skewness(x)
    # As far from 0 as the value and both of these agree on.
    away = np.minimum(np.sign(value) * x, np.sign(value) * corrected)
    p = 2 * special.stdtr(difference.freedom, -np.maximum(away, 0))
  p = np.where(error == 0, 2.0 ** (1 - blocks), p)
  nothing = (value == 0) & ~(error > 0)
  p = np.where(nothing | (blocks < 2), 1.0, p)
  return np.where(np.isnan(value), np.nan, p)[()]


def holm(p: np.typing.ArrayLike) -> np.ndarray:
  """Adjust a family of p values by Holm's (1979) step-down method.

  Of m sorted values the i-th becomes max_{j <= i} min(1, (m - j + 1) p_j). Those
  at most a are rejected: the chance of any wrong rejection is at most a, however
  the tests depend on each other.

  Args:
    p: `[m]`, in [0, 1]; m may be 0.

  Returns:
    float64 `[m]`, in the order given; equal values stay equal.

  Raises:
    UserError: the number of axes is not 1, or a value is no probability.

  >>> holm([0.01, 0.04, 0.03]).round(6).tolist()
  [0.03, 0.06, 0.06]
  """
  values = arguments.reals("p", p)
  if values.ndim != 1 or ((values < 0) | (values > 1)).any():
    raise errors.UserError(
      f"p must be one axis of chances in [0, 1], got {list(values.shape)}"
      f" {values.tolist()!r:.80}."
    )
  m = len(values)
  order = np.argsort(values, kind="stable")
  steps = np.minimum(values[order] * np.arange(m, 0, -1), 1.0)
  out = np.empty(m)
  out[order] = np.maximum.accumulate(steps)
  return out


def rank_ranges(better: np.typing.ArrayLike) -> list[tuple[int, int]]:
  """Return the ranks that each of n models can have, given the decided pairs.

  From 1 + the number of models that are better to n - the number that are worse.
  Where the chance of any wrong decision is at most a (`holm` over all n (n - 1) / 2
  pairs), all ranges hold their models' true ranks together with 1 - a (Mogstad,
  Romano, Shaikh & Wilhelm 2024, Review of Economic Studies 91).

  Args:
    better: bool `[n, n]`: whether the row's model is decided to be better than the
      column's.

  Returns:
    (best, worst) rank of each, from 1.

  Raises:
    UserError: `better` is not square, or a model is better than itself or than
      a model that is better than it.

  >>> rank_ranges([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
  [(1, 2), (1, 2), (3, 3)]
  """
  decided = arguments.rights("better", better)
  if decided.ndim != 2 or decided.shape[0] != decided.shape[1]:
    raise errors.UserError(
      f"better must be a square, a row and a column a model, got"
      f" {list(decided.shape)}."
    )
  both = np.argwhere(decided & decided.T)
  if len(both):
    one, other = both[0].tolist()
    raise errors.UserError(
      f"better: models {one} and {other} are each better than the other."
    )
  worst = len(decided) - decided.sum(1)
  best = 1 + decided.sum(0)
  return list(zip(best.tolist(), worst.tolist()))


def relative_decrease(
  first: np.typing.ArrayLike, second: np.typing.ArrayLike
) -> Any:
  """Compute the relative decrease of the first number from the second: 1 -
  first / second.

  It takes numbers, or paired draws of them. Hendrycks & Dietterich 2019,
  section 5.2 report it for adversarial logit pairing: mFP by 41 %, mT5D by 40
  %.

  Args:
    first: numbers of any shape.
    second: the same for the reference model.

  Returns:
    float64; nan where `second` is not above 0, or one of them is nan.

  >>> round(float(relative_decrease(0.0472, 0.08)), 2)
  0.41
  """
  return (1 - rates.ratio(first, second))[()]


def _pairs(first: object, second: object) -> list[np.ndarray]:
  b, c = _counts("only_first", first), _counts("only_second", second)
  try:
    return list(np.broadcast_arrays(b, c))
  except ValueError as e:
    raise errors.UserError(
      f"only_first {list(b.shape)} and only_second {list(c.shape)} do not go"
      " together."
    ) from e


def _counts(name: str, values: object) -> np.ndarray:
  counts = arguments.reals(name, values)
  if (counts != np.floor(counts)).any() or (counts < 0).any():
    raise errors.UserError(
      f"{name} must be whole numbers from 0, got {values!r:.60}."
    )
  if (counts > _LARGEST_COUNT).any():
    raise errors.UserError(
      f"{name} must be at most {_LARGEST_COUNT:,}, got {counts.max():,.0f}."
    )
  return counts
