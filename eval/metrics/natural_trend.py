"""Perturbed against original accuracy over models: line, band, residuals.

Shankar et al. 2019, Figure 3: the accuracies of many models lie near a line;
a model above it is more robust than its accuracy predicts.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import stats

from robust_tfds import errors
from robust_tfds.eval.metrics import arguments


@dataclasses.dataclass(frozen=True)
class Trend:
  """A least-squares line y = slope x + intercept.

  Attributes:
    slope: y per x.
    slope_interval: (lo, hi), Student's t.
    intercept: y at x = 0.
    intercept_interval: (lo, hi).
    r_squared: share of the variance explained, in [0, 1].
    n: models behind it.
    level: coverage of the intervals.
    spread: standard deviation of the residuals, n - 2 degrees of freedom.
    x_mean: mean of x.
    x_squares: sum of squared deviations of x.
  """

  slope: float
  slope_interval: tuple[float, float]
  intercept: float
  intercept_interval: tuple[float, float]
  r_squared: float
  n: int
  level: float
  spread: float
  x_mean: float
  x_squares: float

  def at(self, x: np.typing.ArrayLike) -> np.ndarray:
    """The line, float64 of x's shape."""
    return np.asarray(x, np.float64) * self.slope + self.intercept

  def band(self, x: np.typing.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """(lo, hi) of the line itself at each x, not of single models."""
    off = np.asarray(x, np.float64) - self.x_mean
    error = self.spread * np.sqrt(1 / self.n + off**2 / self.x_squares)
    width = _quantile(self.level, self.n) * error
    return self.at(x) - width, self.at(x) + width


def fit(
  x: np.typing.ArrayLike, y: np.typing.ArrayLike, *, level: float = 0.95
) -> Trend:
  """The line of y on x by least squares.

  Args:
    x: `[models]`, accuracy on the anchors, fractions.
    y: `[models]`, accuracy under perturbation.
    level: coverage of the intervals.

  Raises:
    UserError: fewer than three models, values that are not finite, or all x
      alike.

  >>> line = fit([0.5, 0.6, 0.7, 0.8], [0.4, 0.5, 0.6, 0.7])
  >>> round(line.slope, 9), round(line.intercept, 9), round(line.r_squared, 9)
  (1.0, -0.1, 1.0)
  """
  a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
  if a.ndim != 1 or a.shape != b.shape or len(a) < 3:
    raise errors.UserError(
      "A line with an interval needs three models or more, x and y [models];"
      f" got {list(a.shape)} and {list(b.shape)}."
    )
  if not (np.isfinite(a).all() and np.isfinite(b).all()):
    raise errors.UserError("x and y must be finite; leave missing models out.")
  off = a - a.mean()
  squares = float(off @ off)
  if np.ptp(a) == 0:
    raise errors.UserError("All models have the same x: no line is determined.")
  slope = float(off @ b) / squares
  intercept = float(b.mean() - slope * a.mean())
  residual = b - (slope * a + intercept)
  spread = float(np.sqrt(residual @ residual / (len(a) - 2)))
  width = _quantile(level, len(a)) * spread
  of_slope = width / np.sqrt(squares)
  of_intercept = width * np.sqrt(1 / len(a) + a.mean() ** 2 / squares)
  total = float(((b - b.mean()) ** 2).sum())
  return Trend(
    slope=slope,
    slope_interval=(float(slope - of_slope), float(slope + of_slope)),
    intercept=intercept,
    intercept_interval=(
      float(intercept - of_intercept),
      float(intercept + of_intercept),
    ),
    r_squared=1 - float(residual @ residual) / total if total else 1.0,
    n=len(a),
    level=level,
    spread=spread,
    x_mean=float(a.mean()),
    x_squares=squares,
  )


def effective_robustness(
  x: np.typing.ArrayLike, y: np.typing.ArrayLike, trend: Trend
) -> np.ndarray:
  """How far models lie above the line: y - trend(x), float64 `[models]`."""
  return np.asarray(y, np.float64) - trend.at(x)


def _quantile(level: float, n: int) -> float:
  return float(stats.t.ppf((1 + arguments.level(level)) / 2, n - 2))
