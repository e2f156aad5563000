"""Brightness sequences: V of HSV shifted from dark to bright; frame 15 is clean.

docs/specs/imagenet_p.md sections 2 and 4; the shift itself is
`image/brightness.py`.
"""

import jax
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.image import brightness
from robust_tfds.corruptions.ops import layout


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """`shift` of V in the image corruption's own units, float32 `[31]`."""
  del difficulty
  step = 0.015 if edition.name == "cifar10" else 0.02
  return {"shift": brightness.units(step * (np.arange(31) - 15))}


def frame(
  image: jax.Array,
  draws: None,
  size: layout.Size,
  row: plugins.Table,
  edition: spec.Edition,
) -> jax.Array:
  """One frame, uint8 `[S, S * 3]`."""
  return brightness.apply(image, draws, size, row, edition)


PLUGIN = plugins.FrameByFrame(
  tables=tables,
  rows=("shift",),
  frame=frame,
)
