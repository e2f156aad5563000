"""Rotation from -15 to 15 degrees, bilinear, black corners; frame 15 is clean.

docs/evidence/specs/imagenet_p.md sections 2 and 4.
"""

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import geometry


def tables(edition: spec.Edition, difficulty: int) -> plugins.Arrays:
  """Return `matrix` of every frame, see `geometry.matrix_table`."""
  return geometry.matrix_table(
    geometry.affine_matrix(angle_deg=i - 15) for i in range(31)
  )


PLUGIN = geometry.affine_plugin(tables, on_source=("imagenet", "inception"))
