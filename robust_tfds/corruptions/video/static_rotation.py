"""A tilted camera: 7.5, 15, 30, 45 or 90 degrees counter-clockwise.

docs/evidence/specs/video.md section 1: nearest neighbour about the centre, black
corners.
"""

import numpy as np

from robust_tfds.corruptions import plugins
from robust_tfds.corruptions.ops import rotation

DEGREES = (7.5, 15.0, 30.0, 45.0, 90.0)


def draws(frames: plugins.Frames) -> plugins.Arrays:
  """Return the walk of every frame, all by one angle."""
  degrees = np.full(len(frames.sizes), DEGREES[frames.severity - 1])
  return {"walk": rotation.steps(degrees, tuple(frames.sizes.T))}


PLUGIN = plugins.OfFrames(draws, rotation.apply)
