"""A lower frame rate, played backwards.

docs/evidence/specs/video.md section 1: the frames of `sampling`, in reverse. The result
is shorter: ceil(T / rate) frames.
"""

import numpy as np

from robust_tfds.corruptions import plugins
from robust_tfds.corruptions.video import sampling


def indices(clip: plugins.Clip) -> np.ndarray:
  """Return the frames of `sampling` in reverse."""
  return sampling.indices(clip)[::-1]


PLUGIN = plugins.OfIndices(indices)
