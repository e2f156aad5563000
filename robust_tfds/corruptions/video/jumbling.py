"""Frames shuffled within segments.

docs/evidence/specs/video.md section 1: segments of 4, 8, 16, 32, 64 frames (edition
`paper`); of 32, 16, 8, 4, 2 in the released code, where a higher severity
disturbs less. The last segment may be shorter. The number of frames stays.
"""

import numpy as np

from robust_tfds.corruptions import plugins, seeding

SEGMENTS = {"paper": (4, 8, 16, 32, 64), "code": (32, 16, 8, 4, 2)}


def indices(clip: plugins.Clip) -> np.ndarray:
  """Return a permutation that keeps every frame in its segment."""
  segment = SEGMENTS[clip.edition][clip.severity - 1]
  order = seeding.words(clip.key, clip.num_frames)
  frames = np.arange(clip.num_frames)
  # Sorted by segment, and by random words within a segment.
  return np.lexsort((order, frames // segment))


PLUGIN = plugins.OfIndices(indices)
