"""Brightness sequences: V of HSV shifted from dark to bright; frame 15 is clean.

docs/evidence/specs/imagenet_p.md sections 2 and 4; the shift itself is
`image/brightness.py`.
"""

import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.image import brightness


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """Return `shift` of V in the image corruption's own units, float32 `[31]`."""
  step = 0.015 if edition.name == "cifar10" else 0.02
  return {"shift": brightness.units(step * (np.arange(31) - 15))}


PLUGIN = plugins.FrameByFrame(
  tables=tables,
  rows=("shift",),
  frame=brightness.apply,
)
