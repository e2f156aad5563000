"""The CDF of the l-infinity distance of frames from their anchors, in pixels.

Shankar et al. 2019, Appendix F: natural changes are far outside the balls that
adversarial training covers.
"""

import numpy as np

from robust_tfds import errors


def cdf(
  values: np.typing.ArrayLike, thresholds: np.typing.ArrayLike
) -> np.ndarray:
  """Compute the share of values up to each threshold: float64, in [0, 1].

  Raises:
    UserError: there are no values, or NaN among them.

  >>> cdf([0.1, 0.3], [0.0, 0.1, 1.0])
  array([0. , 0.5, 1. ])
  """
  ranked = np.sort(np.asarray(values, np.float64), axis=None)
  if not len(ranked) or np.isnan(ranked).any():
    raise errors.UserError("A CDF needs at least one value, and no NaN.")
  return np.searchsorted(ranked, thresholds, side="right") / len(ranked)
