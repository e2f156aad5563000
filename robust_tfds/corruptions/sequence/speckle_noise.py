"""Speckle noise sequences: independent noise around the clean frame 0.

docs/evidence/specs/imagenet_p.md sections 2 and 4; the noise itself is
`image/speckle_noise.py`.
"""

import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.image import speckle_noise
from robust_tfds.corruptions.ops import fresh_noise

_SIGMA = {  # standard deviation relative to v, by difficulty
  "imagenet": (0.05, 0.1, 0.15),
  "inception": (0.06, 0.11, 0.16),
  "imagenet64": (0.05, 0.1, 0.15),
  "tiny_imagenet": (0.05, 0.1, 0.15),
  "cifar10": (0.05, 0.07, 0.1),
}


def tables(edition: spec.Edition, difficulty: int) -> plugins.Arrays:
  """Return `index` `[31]` and `sigma`."""
  sigma = _SIGMA[edition.name][difficulty - 1]
  return {**fresh_noise.index_table(), "sigma": np.array(sigma, np.float32)}


PLUGIN = plugins.FrameByFrame(
  tables=tables,
  rows=fresh_noise.ROWS,
  frame=fresh_noise.gaussian(speckle_noise.apply),
)
