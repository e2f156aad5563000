"""A lower frame rate: every 2nd, 4th, 8th, 16th or 32nd frame is kept.

docs/specs/video.md section 1. The result is shorter: ceil(T / rate) frames.
"""

import numpy as np

from robust_tfds.corruptions import plugins

RATES = (2, 4, 8, 16, 32)


def indices(
  num_frames: int, severity: int, edition: str, key: np.ndarray
) -> np.ndarray:
  """Frames 0, rate, 2 rate, ..."""
  del edition, key
  return np.arange(0, num_frames, RATES[severity - 1])


PLUGIN = plugins.OfIndices(indices)
