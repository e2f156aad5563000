"""Scale, bilinear without antialiasing, black around small frames.

docs/evidence/specs/imagenet_p.md sections 2 and 4.
"""

import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import geometry


def tables(edition: spec.Edition, difficulty: int) -> plugins.Arrays:
  """Return `matrix` of every frame, see `geometry.matrix_table`."""
  return geometry.matrix_table(
    geometry.affine_matrix(scale=f) for f in _factors(edition)
  )


def _factors(edition: spec.Edition) -> np.ndarray:
  i = np.arange(31)
  if edition.name == "cifar10":
    return (70 + 2 * i) / 100  # frame 15 is clean
  return (40 + 2.5 * i) / 100  # frame 24 is clean


PLUGIN = geometry.affine_plugin(tables, on_source=("imagenet",))
