"""Zoom blur sequences: frame i is the mean of zooms 1 to 1 + 0.004 i.

docs/evidence/specs/imagenet_p.md sections 2 and 4. Frame 0 is clean. The running sum is
of levels / 255 in float32, like the authors': its rounding decides whether a
whole level is truncated to itself or to the one below.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import double, geometry, layout


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """Return `matrix`, output to source: float64 bits; `count` of zooms."""
  rows = [geometry.affine_matrix(scale=1 + 0.004 * i) for i in range(31)]
  count = np.arange(1, 32, dtype=np.float32)
  return {"matrix": double.bits(np.stack(rows)), "count": count}


def frames(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute all frames, uint8 `[31, S, S * 3]`."""
  image, size, edition = scene.image, scene.size, scene.edition

  def step(total: jax.Array, row: plugins.Table) -> tuple[jax.Array, jax.Array]:
    zoomed = geometry.affine(image, size, edition, row["matrix"])
    total = total + double.quotient(zoomed, 255.0)
    mean = double.quotient(total, row["count"]) * 255.0
    return total, layout.to_uint8(mean)

  side = edition.side_px
  zero = jnp.zeros((side, 3 * side), jnp.float32)
  return jax.lax.scan(step, zero, dict(scene.table))[1]


PLUGIN = plugins.Successive(
  tables=tables,
  rows=("matrix", "count"),
  all_frames=frames,
  on_source=(
    "imagenet",
  ),  # Zooms the source; the Inception edition zooms its crop.
)
