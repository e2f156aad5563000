"""How far frames are from their anchors in pixels: l-infinity and its CDF.

Shankar et al. 2019, Appendix F: natural changes are far outside the balls that
adversarial training covers.
"""

import numpy as np

from robust_tfds import errors


def l_infinity(a: np.typing.ArrayLike, b: np.typing.ArrayLike) -> np.ndarray:
  """Largest absolute difference of each pair of images, in [0, 1].

  Args:
    a: uint8 `[..., H, W, C]`.
    b: uint8 of the same shape.

  Returns:
    float64 `[...]`, 1 for black against white.

  Raises:
    UserError: other dtypes, or different shapes.

  >>> l_infinity(np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 51, np.uint8))
  np.float64(0.2)
  """
  x, y = np.asarray(a), np.asarray(b)
  if x.dtype != np.uint8 or y.dtype != np.uint8 or x.shape != y.shape:
    raise errors.UserError(
      "Pairs of uint8 images of one shape expected, got"
      f" {x.dtype} {list(x.shape)} and {y.dtype} {list(y.shape)}."
    )
  # Unsigned differences wrap: the larger minus the smaller does not.
  difference = np.maximum(x, y) - np.minimum(x, y)
  return difference.max(axis=(-3, -2, -1)) / np.float64(255)


def cdf(
  values: np.typing.ArrayLike, thresholds: np.typing.ArrayLike
) -> np.ndarray:
  """Share of values that do not exceed each threshold: float64, in [0, 1].

  Raises:
    UserError: no values, or NaN among them.

  >>> cdf([0.1, 0.3], [0.0, 0.1, 1.0])
  array([0. , 0.5, 1. ])
  """
  ranked = np.sort(np.asarray(values, np.float64), axis=None)
  if not len(ranked) or np.isnan(ranked).any():
    raise errors.UserError("A CDF needs at least one value, and no NaN.")
  return np.searchsorted(ranked, thresholds, side="right") / len(ranked)
