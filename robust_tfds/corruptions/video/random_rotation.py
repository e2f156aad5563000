"""A shaking camera: every frame turned by its own whole number of degrees.

docs/specs/video.md section 1: uniform in -(6 s + 1) .. 6 s + 1, nearest
neighbour about the centre, black corners.
"""

import numpy as np

from robust_tfds.corruptions import plugins, seeding
from robust_tfds.corruptions.ops import rotation


def degrees(severity: int, keys: np.ndarray) -> np.ndarray:
  """The angle of every frame: int64 `[T]`."""
  most = 6 * severity + 1
  return seeding.first_integers(keys, 2 * most + 1) - most


def draws(
  sizes: np.ndarray,
  severity: int,
  edition: str,
  clip_keys: np.ndarray,
  keys: np.ndarray,
) -> plugins.Arrays:
  """The walk of every frame."""
  del edition, clip_keys
  shape = sizes[:, 0], sizes[:, 1]
  return {"walk": rotation.steps(degrees(severity, keys), shape)}


PLUGIN = plugins.OfFrames(draws, rotation.apply)
