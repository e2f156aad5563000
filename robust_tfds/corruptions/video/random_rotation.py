"""A shaking camera: every frame turned by its own whole number of degrees.

docs/specs/video.md section 1: uniform in -(6 s + 1) .. 6 s + 1, nearest
neighbour about the centre, black corners.
"""

import jax
import numpy as np

from robust_tfds.corruptions import plugins
from robust_tfds.corruptions import seeding
from robust_tfds.corruptions.ops import rotation


def degrees(severity: int, keys: np.ndarray) -> np.ndarray:
  """The angle of every frame: int64 `[T]`."""
  most = 6 * severity + 1
  return seeding.first_integers(keys, 2 * most + 1) - most


def frames(
  video: np.ndarray,
  severity: int,
  edition: str,
  clip_key: np.ndarray,
  keys: np.ndarray,
) -> jax.Array:
  """uint8 `[T, H, W, 3]`."""
  del edition, clip_key
  turns = rotation.steps(degrees(severity, keys), video.shape[1:3])
  return rotation.rotate(video, turns)


PLUGIN = plugins.OfFrames(frames)
