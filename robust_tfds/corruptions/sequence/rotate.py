"""Rotation from -15 to 15 degrees, bilinear, black corners; frame 15 is clean.

docs/specs/imagenet_p.md sections 2 and 4.
"""

import jax
import numpy as np

from robust_tfds.corruptions import spec
from robust_tfds.corruptions.ops import double
from robust_tfds.corruptions.ops import geometry

ROWS = ("matrix",)


def on_source(edition: spec.Edition) -> bool:
  """At the source's resolution where the edition crops from one."""
  return edition.name in ("imagenet", "inception")


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """`matrix`, output to source: float64 bits, int32 `[31, 2, 2, 2]`."""
  del difficulty
  del edition
  rows = [geometry.affine_matrix(angle_deg=i - 15) for i in range(31)]
  return {"matrix": double.bits(np.stack(rows))}


def frame(image, draws, size, row, edition) -> jax.Array:
  """One frame, uint8 `[S, S * 3]`."""
  del draws
  return geometry.affine(image, size, edition, row["matrix"])
