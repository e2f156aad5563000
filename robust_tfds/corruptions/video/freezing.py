"""A live stream that hangs: a few frames, each held until the next.

docs/evidence/specs/video.md section 1: k = 0.4 T, 0.2 T, 0.1 T, max(0.05 T, 2), 1 frames
(truncated, at least one) are drawn without replacement. The result starts at the
first of them, so it has T minus that frame's number of frames.
"""

import numpy as np

from robust_tfds.corruptions import plugins, seeding


def indices(clip: plugins.Clip) -> np.ndarray:
  """Return the drawn frame that is held at every moment."""
  num_frames = clip.num_frames
  counts = (
    0.4 * num_frames,
    0.2 * num_frames,
    0.1 * num_frames,
    max(0.05 * num_frames, 2),
    1,
  )
  count = min(max(int(counts[clip.severity - 1]), 1), num_frames)
  drawn = np.argsort(seeding.words(clip.key, num_frames), kind="stable")[:count]
  held = np.sort(drawn)
  moments = np.arange(held[0], num_frames)
  return held[np.searchsorted(held, moments, side="right") - 1]


PLUGIN = plugins.OfIndices(indices)
