"""Segments shuffled, with the order of frames inside them kept.

docs/evidence/specs/video.md section 1: segments of 64, 32, 16, 8, 4 frames (edition
`paper`); of 4, 9, 16, 25, 36 in the released code, where a higher severity
disturbs less and a clip of one segment not at all. The last segment may be
shorter, wherever it lands. The number of frames stays.
"""

import numpy as np

from robust_tfds.corruptions import plugins, seeding

SEGMENTS = {"paper": (64, 32, 16, 8, 4), "code": (4, 9, 16, 25, 36)}


def indices(clip: plugins.Clip) -> np.ndarray:
  """Return a permutation of whole segments."""
  segment = SEGMENTS[clip.edition][clip.severity - 1]
  home = np.arange(clip.num_frames) // segment
  rank = np.argsort(seeding.words(clip.key, home[-1] + 1), kind="stable")
  place = np.argsort(rank, kind="stable")
  return np.argsort(place[home], kind="stable")


PLUGIN = plugins.OfIndices(indices)
