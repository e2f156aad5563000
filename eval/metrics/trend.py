"""A line over models: accuracy under a shift against accuracy without it.

Shankar et al. 2019, Figure 3: the accuracies of many models lie near a line; a
model above it is more robust than its accuracy predicts. Taori et al. 2020,
section 2 fit it on logit axes, logit(y) = slope logit(x) + intercept, and call
a model's excess, y - beta(x) in accuracy, its effective robustness. The line is
fitted by least squares with equal weights; its band is the pointwise interval
of the line (Student's t), on logit axes mapped back.

Nothing is clipped: the logits of 0 and 1 are infinite, so on logit axes a
reference model with either is refused, as is a model's own x. Its y may be 0 or
1.
"""

import dataclasses

import numpy as np
from scipy import special

from eval.metrics import arguments
from robust_tfds import errors


@dataclasses.dataclass(frozen=True)
class Trend:
  """A least-squares line y = slope x + intercept.

  Attributes:
    slope: y per x, in logits on logit axes.
    slope_interval: (lo, hi), Student's t.
    intercept: y at x = 0.
    intercept_interval: (lo, hi).
    r_squared: share of the variance explained, in [0, 1].
    n: number of fitted models.
    level: coverage of the intervals.
    spread: standard deviation of the residuals, n - 2 degrees of freedom.
    x_mean: mean of x.
    x_squares: sum of squared deviations of x.
    logits: whether the axes are logits, not accuracies.
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
  logits: bool = False

  def predict(self, x: np.typing.ArrayLike) -> np.ndarray:
    """Return y of the line, float64 of x's shape; nan where x has no logit."""
    return self._accuracy(self._place(x) * self.slope + self.intercept)

  def band(self, x: np.typing.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return (lo, hi) of the line itself at each x, not of single models."""
    place = self._place(x)
    off = place - self.x_mean
    error = self.spread * np.sqrt(1 / self.n + off**2 / self.x_squares)
    width = _quantile(self.level, self.n) * error
    at = place * self.slope + self.intercept
    return self._accuracy(at - width), self._accuracy(at + width)

  def above(self, x: np.typing.ArrayLike, y: np.typing.ArrayLike) -> np.ndarray:
    """Return how far models lie above the line: y - predict(x), float64 `[models]`.

    >>> line = fit([0.2, 0.5, 0.8], [0.2, 0.5, 0.8], logits=True)
    >>> float(line.above([0.7], [0.75])[0].round(9))
    0.05
    """
    return np.asarray(y, np.float64) - self.predict(x)

  def _place(self, x: np.typing.ArrayLike) -> np.ndarray:
    return logit(x) if self.logits else np.asarray(x, np.float64)

  def _accuracy(self, y: np.ndarray) -> np.ndarray:
    return inverse_logit(y) if self.logits else y


def fit(
  x: np.typing.ArrayLike,
  y: np.typing.ArrayLike,
  *,
  level: float = 0.95,
  logits: bool = False,
) -> Trend:
  """Fit the line of y on x by least squares.

  Args:
    x: `[models]`, accuracy without the shift, fractions.
    y: `[models]`, accuracy under it.
    level: coverage of the intervals.
    logits: whether to fit on logit axes.

  Raises:
    UserError: there are fewer than three models, a value is not finite, or all
      x are equal; on logit axes, an accuracy is outside (0, 1).

  >>> line = fit([0.5, 0.6, 0.7, 0.8], [0.4, 0.5, 0.6, 0.7])
  >>> round(line.slope, 9), round(line.intercept, 9), round(line.r_squared, 9)
  (1.0, -0.1, 1.0)
  """
  a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
  if logits:
    a, b = _logits("x", a), _logits("y", b)
  if a.ndim != 1 or a.shape != b.shape or len(a) < 3:
    raise errors.UserError(
      "A line with an interval needs three models or more, x and y [models];"
      f" got {list(a.shape)} and {list(b.shape)}."
    )
  if not (np.isfinite(a).all() and np.isfinite(b).all()):
    raise errors.UserError("x and y must be finite; leave missing models out.")
  if np.ptp(a) == 0:
    raise errors.UserError("All models have the same x: no line is determined.")
  squares = float(((a - a.mean()) ** 2).sum())
  slope, intercept = map(float, _least_squares(a, b))
  residual = b - (slope * a + intercept)
  spread = float(np.sqrt(residual @ residual / (len(a) - 2)))
  width = _quantile(level, len(a)) * spread
  slope_width = width / np.sqrt(squares)
  intercept_width = width * np.sqrt(1 / len(a) + a.mean() ** 2 / squares)
  total = float(((b - b.mean()) ** 2).sum())
  return Trend(
    slope=slope,
    slope_interval=(float(slope - slope_width), float(slope + slope_width)),
    intercept=intercept,
    intercept_interval=(
      float(intercept - intercept_width),
      float(intercept + intercept_width),
    ),
    r_squared=1 - float(residual @ residual) / total if total else 1.0,
    n=len(a),
    level=level,
    spread=spread,
    x_mean=float(a.mean()),
    x_squares=squares,
    logits=logits,
  )


def above_lines(
  x: np.ndarray, y: np.ndarray, of_x: np.ndarray, of_y: np.ndarray
) -> np.ndarray:
  """Return how far a model lies above lines on logit axes, one line for each draw.

  Args:
    x: `[K]`, the model's accuracy without the shift in K draws.
    y: `[K]`, accuracy under it.
    of_x: `[models, K]`, the same for the models that lines are fitted to.
    of_y: `[models, K]`.

  Returns:
    `[K]`; nan where an accuracy has no logit, or all x are equal.
  """
  with np.errstate(divide="ignore", invalid="ignore"):
    slope, intercept = _least_squares(logit(of_x), logit(of_y))
    return y - inverse_logit(slope * logit(x) + intercept)


def _least_squares(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
  """Return slope and intercept of b on a, over the first axis."""
  off = a - a.mean(axis=0)
  slope = (off * b).sum(axis=0) / (off**2).sum(axis=0)
  return slope, b.mean(axis=0) - slope * a.mean(axis=0)


def logit(x: np.typing.ArrayLike) -> np.ndarray:
  """Compute log(x / (1 - x)), float64 of x's shape; nan outside (0, 1)."""
  a = np.asarray(x, np.float64)
  return special.logit(np.where((a > 0) & (a < 1), a, np.nan))


def inverse_logit(v: np.typing.ArrayLike) -> np.ndarray:
  """Compute 1 / (1 + exp(-v)), float64 of v's shape."""
  return special.expit(np.asarray(v, np.float64))


def _logits(name: str, values: np.ndarray) -> np.ndarray:
  """Return the logits of a reference's accuracies, all of which must have one."""
  outside = values[~((values > 0) & (values < 1))]
  if outside.size:
    raise errors.UserError(
      f"A line on logit axes needs accuracies between 0 and 1, both excluded;"
      f" {outside.size} of {values.size} models have another {name}, e.g."
      f" {outside.flat[0]}. Leave these models out of the reference."
    )
  return logit(values)


def _quantile(level: float, n: int) -> float:
  share = (1 + arguments.level(level)) / 2
  return float(special.stdtrit(n - 2, share))  # Student's t
