"""Effective robustness: how far above the line of other models, on logit axes.

Taori et al. 2020, section 2: over many models the accuracy y under a shift
follows from the accuracy x without it, as logit(y) = slope logit(x) + intercept.
A model's effective robustness is y - beta(x), what it has above that line beta,
in accuracy. The line is by least squares on the logits, every model counting
alike; its band is the pointwise interval of the line (Student's t) on the logits,
mapped back. `natural_trend` has the line on plain axes, as Shankar et al. fit it.

Nothing is clipped: the logit of 0 and of 1 is infinite, so a model of the
reference with either is refused, as is a model's own x. Its y may be 0 or 1.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import special

from robust_tfds import errors
from robust_tfds.eval.metrics import natural_trend


@dataclasses.dataclass(frozen=True)
class LogitTrend:
  """The line over a reference.

  Attributes:
    line: logit(y) on logit(x), with its intervals.
  """

  line: natural_trend.Trend

  def at(self, x: np.typing.ArrayLike) -> np.ndarray:
    """y of the line, float64 of x's shape; nan where x is not in (0, 1)."""
    return inverse_logit(self.line.at(logit(x)))

  def band(self, x: np.typing.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """(lo, hi) of the line itself at each x, not of single models."""
    lo, hi = self.line.band(logit(x))
    return inverse_logit(lo), inverse_logit(hi)


def fit(
  x: np.typing.ArrayLike, y: np.typing.ArrayLike, *, level: float = 0.95
) -> LogitTrend:
  """The line of a reference.

  Args:
    x: `[models]`, accuracy without the shift, fractions in (0, 1).
    y: `[models]`, accuracy under it, fractions in (0, 1).
    level: coverage of the intervals.

  Raises:
    UserError: fewer than three models, all x alike, or an accuracy outside
      (0, 1).

  >>> line = fit([0.2, 0.5, 0.8], [0.2, 0.5, 0.8])
  >>> round(line.line.slope, 9), round(float(line.at(0.7)), 9)
  (1.0, 0.7)
  """
  a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
  for name, values in (("x", a), ("y", b)):
    outside = values[~((values > 0) & (values < 1))]
    if outside.size:
      raise errors.UserError(
        f"A line on logit axes needs accuracies between 0 and 1, both excluded;"
        f" {outside.size} of {values.size} models have another {name}, e.g."
        f" {outside.flat[0]}. Leave these models out of the reference."
      )
  return LogitTrend(natural_trend.fit(logit(a), logit(b), level=level))


def effective_robustness(
  x: np.typing.ArrayLike, y: np.typing.ArrayLike, trend: LogitTrend
) -> np.ndarray:
  """How far models lie above the line: y - trend(x), float64 `[models]`.

  Args:
    x: accuracy without the shift, fractions; nan comes of what is not in (0, 1).
    y: accuracy under it, fractions in [0, 1].
    trend: of the reference.

  >>> line = fit([0.2, 0.5, 0.8], [0.2, 0.5, 0.8])
  >>> float(effective_robustness([0.7], [0.75], line)[0].round(9))
  0.05
  """
  return np.asarray(y, np.float64) - trend.at(x)


def logit(x: np.typing.ArrayLike) -> np.ndarray:
  """log(x / (1 - x)), float64 of x's shape; nan outside (0, 1)."""
  a = np.asarray(x, np.float64)
  return special.logit(np.where((a > 0) & (a < 1), a, np.nan))


def inverse_logit(v: np.typing.ArrayLike) -> np.ndarray:
  """1 / (1 + exp(-v)), float64 of v's shape."""
  return special.expit(np.asarray(v, np.float64))
