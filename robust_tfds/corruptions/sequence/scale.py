"""Scale, bilinear without antialiasing, black around small frames.

docs/specs/imagenet_p.md sections 2 and 4.
"""

import jax
import numpy as np

from robust_tfds.corruptions import spec
from robust_tfds.corruptions.ops import double
from robust_tfds.corruptions.ops import geometry

ROWS = ("matrix",)


def _factors(edition: spec.Edition) -> np.ndarray:
  i = np.arange(31)
  if edition.name == "cifar10":
    return (70 + 2 * i) / 100  # frame 15 is clean
  return (40 + 2.5 * i) / 100  # frame 24 is clean


def on_source(edition: spec.Edition) -> bool:
  """At the source's resolution where the edition crops from one."""
  return edition.name in ("imagenet",)


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """`matrix`, output to source: float64 bits, int32 `[31, 2, 2, 2]`."""
  del difficulty
  rows = [geometry.affine_matrix(scale=f) for f in _factors(edition)]
  return {"matrix": double.bits(np.stack(rows))}


def frame(image, draws, size, row, edition) -> jax.Array:
  """One frame, uint8 `[S, S * 3]`."""
  del draws
  return geometry.affine(image, size, edition, row["matrix"])
