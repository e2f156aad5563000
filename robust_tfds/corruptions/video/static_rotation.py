"""A tilted camera: 7.5, 15, 30, 45 or 90 degrees counter-clockwise.

docs/specs/video.md section 1: nearest neighbour about the centre, black
corners.
"""

import jax
import numpy as np

from robust_tfds.corruptions import plugins
from robust_tfds.corruptions.ops import rotation

DEGREES = (7.5, 15.0, 30.0, 45.0, 90.0)


def frames(
  video: np.ndarray,
  severity: int,
  edition: str,
  clip_key: np.ndarray,
  keys: np.ndarray,
) -> jax.Array:
  """uint8 `[T, H, W, 3]`, every frame turned alike."""
  del edition, clip_key, keys
  turn = rotation.steps(np.array([DEGREES[severity - 1]]), video.shape[1:3])
  return rotation.rotate(video, np.repeat(turn, len(video), axis=0))


PLUGIN = plugins.OfFrames(frames)
