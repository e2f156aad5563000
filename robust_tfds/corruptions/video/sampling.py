"""A lower frame rate: every 2nd, 4th, 8th, 16th or 32nd frame is kept.

docs/evidence/specs/video.md section 1. The result is shorter: ceil(T / rate) frames.
"""

import numpy as np

from robust_tfds.corruptions import plugins

RATES = (2, 4, 8, 16, 32)


def indices(clip: plugins.Clip) -> np.ndarray:
  """Return frames 0, rate, 2 rate, ..."""
  return np.arange(0, clip.num_frames, RATES[clip.severity - 1])


PLUGIN = plugins.OfIndices(indices)
