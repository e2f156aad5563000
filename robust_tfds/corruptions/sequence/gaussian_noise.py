"""Gaussian noise sequences: independent noise around the clean frame 0.

docs/evidence/specs/imagenet_p.md sections 2 and 4; the noise itself is
`image/gaussian_noise.py`.
"""

import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.image import gaussian_noise
from robust_tfds.corruptions.ops import fresh_noise

_SIGMA = {  # standard deviation of v in [0, 1], by difficulty
  "imagenet": (0.03, 0.05, 0.08),
  "inception": (0.035, 0.055, 0.085),
  "imagenet64": (0.025, 0.05, 0.075),
  "tiny_imagenet": (0.025, 0.05, 0.075),
  "cifar10": (0.02, 0.04, 0.06),
}


def tables(edition: spec.Edition, difficulty: int) -> plugins.Arrays:
  """Return `index` `[31]` and `sigma` in levels."""
  sigma = _SIGMA[edition.name][difficulty - 1] * 255
  return {**fresh_noise.index_table(), "sigma": np.array(sigma, np.float32)}


PLUGIN = plugins.FrameByFrame(
  tables=tables,
  rows=fresh_noise.ROWS,
  frame=fresh_noise.gaussian(gaussian_noise.apply),
)
