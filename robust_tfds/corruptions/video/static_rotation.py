"""A tilted camera: 7.5, 15, 30, 45 or 90 degrees counter-clockwise.

docs/specs/video.md section 1: nearest neighbour about the centre, black
corners.
"""

import numpy as np

from robust_tfds.corruptions import plugins
from robust_tfds.corruptions.ops import rotation

DEGREES = (7.5, 15.0, 30.0, 45.0, 90.0)


def draws(
  sizes: np.ndarray,
  severity: int,
  edition: str,
  clip_keys: np.ndarray,
  keys: np.ndarray,
) -> plugins.Arrays:
  """The walk of every frame, all of one angle."""
  del edition, clip_keys, keys
  degrees = np.full(len(sizes), DEGREES[severity - 1])
  return {"walk": rotation.steps(degrees, (sizes[:, 0], sizes[:, 1]))}


PLUGIN = plugins.OfFrames(draws, rotation.apply)
