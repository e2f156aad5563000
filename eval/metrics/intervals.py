"""Exact binomial confidence intervals; arrays in, floats out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from eval.metrics import arguments
from robust_tfds import errors

Rate = tuple[float, float, float]  # value, lo, hi
_LARGEST_COUNT = 1e15  # beyond it the Beta quantiles lose their digits


def clopper_pearson(
  successes: np.typing.ArrayLike, n: np.typing.ArrayLike, level: float = 0.95
) -> tuple[Any, Any]:
  """Compute the exact binomial interval of Clopper and Pearson (1934).

  lo = Beta(a / 2; k, n - k + 1), hi = Beta(1 - a / 2; k + 1, n - k) for k
  successes of n and a = 1 - level, quantiles of the Beta distribution; 0 and 1
  at the ends. Shankar et al. 2019, section 3 report it at 95 %.

  Args:
    successes: integers k >= 0, any shape.
    n: integers >= k, broadcast against `successes`; n = 0 gives (0, 1).
    level: coverage in (0, 1).

  Returns:
    (lo, hi), float64 of the broadcast shape, in [0, 1]; numbers for numbers.

  Raises:
    UserError: a count is negative or not whole, there are more successes than
      trials, the shapes do not match, or the level is outside (0, 1).

  >>> lo, hi = clopper_pearson(166, 242)
  >>> f"{lo:.4f} {hi:.4f}"
  '0.6234 0.7439'
  >>> clopper_pearson(0, 10)[0], clopper_pearson(10, 10)[1]
  (np.float64(0.0), np.float64(1.0))
  """
  tail = (1 - arguments.level(level)) / 2
  k, n = _broadcast(_counts("successes", successes), _counts("n", n))
  if (k > n).any():
    raise errors.UserError(
      f"More successes than trials: {k[k > n].flat[0]} of {n[k > n].flat[0]}."
    )
  lo = special.betaincinv(np.maximum(k, 1), n - k + 1, tail)
  hi = special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail)
  return np.where(k == 0, 0.0, lo)[()], np.where(k == n, 1.0, hi)[()]


def rates(
  hits: np.typing.ArrayLike, n: np.typing.ArrayLike, level: float = 0.95
) -> list[Rate]:
  """Return (value, lo, hi) of each share, with the ends of `clopper_pearson`.

  Args:
    hits: integers `[N]`.
    n: numbers of trials, `[N]` or one number; without trials the value is nan.
    level: coverage in (0, 1).

  >>> [[round(x, 4) for x in rate] for rate in rates([0, 166], [10, 242])]
  [[0.0, 0.0, 0.3085], [0.686, 0.6234, 0.7439]]
  """
  lo, hi = clopper_pearson(hits, n, level)
  with np.errstate(invalid="ignore"):
    value = np.asarray(hits) / np.asarray(n)
  return list(zip(value.tolist(), lo.tolist(), hi.tolist()))


def _broadcast(k: np.ndarray, n: np.ndarray) -> list[np.ndarray]:
  try:
    return list(np.broadcast_arrays(k, n))
  except ValueError as e:
    raise errors.UserError(
      f"successes {list(k.shape)} and n {list(n.shape)} do not match."
    ) from e


def _counts(name: str, values: np.typing.ArrayLike) -> np.ndarray:
  counts = arguments.array(name, values)
  fits = counts.dtype.kind in "iuf" and np.isfinite(counts).all()
  if not fits or (counts != np.floor(counts)).any():
    raise errors.UserError(f"{name} must be whole numbers, got {values!r}.")
  whole = counts.astype(np.float64)
  if (whole < 0).any():
    raise errors.UserError(f"{name} must not be negative, got {whole.min():g}.")
  if (whole > _LARGEST_COUNT).any():
    raise errors.UserError(
      f"{name} must be at most {_LARGEST_COUNT:g}, got {whole.max():g}."
    )
  return whole


def over_runs(
  values: Sequence[float], level: float = 0.95
) -> tuple[float, float]:
  """Return Student's t interval of the mean of independent runs.

  Args:
    values: one number a run, at least two.
    level: coverage in (0, 1).

  >>> [round(end, 3) for end in over_runs([0.2, 0.3, 0.4])]
  [0.052, 0.548]
  """
  count, mean = len(values), float(np.mean(values))
  t = special.stdtrit(count - 1, (1 + level) / 2)
  half = float(t * np.std(values, ddof=1) / np.sqrt(count))
  return mean - half, mean + half
