"""A shaking camera: every frame turned by its own whole number of degrees.

docs/evidence/specs/video.md section 1: uniform in -(6 s + 1) .. 6 s + 1, nearest
neighbour about the centre, black corners.
"""

import numpy as np

from robust_tfds.corruptions import plugins, seeding
from robust_tfds.corruptions.ops import rotation


def degrees(severity: int, keys: np.ndarray) -> np.ndarray:
  """Draw the angle of every frame: int64 `[T]`."""
  most = 6 * severity + 1
  return seeding.first_integers(keys, 2 * most + 1) - most


def draws(frames: plugins.Frames) -> plugins.Arrays:
  """Draw the walk of every frame."""
  angles = degrees(frames.severity, frames.keys)
  return {"walk": rotation.steps(angles, tuple(frames.sizes.T))}


PLUGIN = plugins.OfFrames(draws, rotation.apply)
