"""Sparkles: five white stars.

docs/evidence/specs/imagenet_c_bar.md sections 3 (4) and 9.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import field, layout, rays

SEVERITIES = {  # a star's radius, in hundredths of the picture's side
  "imagenet": (1, 2, 3, 5, 6),
  "cifar10": (0.7, 3.5, 5.6, 6.3, 7),
}
_STARS = 5


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `radius` in sides of the picture, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"radius": (severities / 100).astype(np.float32)}


def draw(scene: plugins.Scene) -> dict[str, jax.Array]:
  """Draw `centers` (row, column) `[5, 2]`, `nrays` `[5]`, `lengths` in px."""
  side = field.side(scene.image, scene.size)
  radius = scene.table["radius"] * side
  count, normal = rays.draw(scene.key, _STARS, stream=1)
  draws = {
    "centers": seeding.uniform(scene.key, (_STARS, 2)) * side,
    "nrays": count,
    # At least a pixel: an eighth of the rays of small stars would be shorter.
    "lengths": jnp.maximum(1, radius + rays.SPREAD * radius * normal),
  }
  return field.settled(draws, scene.table["severity"])


def apply(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  levels = field.levels(scene.image)
  for star in range(_STARS):
    light = rays.light(
      scene.image.shape,
      draws["centers"][star],
      draws["lengths"][star],
      draws["nrays"][star],
      exponent=1,
    )
    levels = levels + light * (255 - levels)
  return layout.interleave(levels)


def accept(values: given_draws.Draws, severity: float, side: int) -> dict:
  """Return given draws in the form of `draw`."""
  values.agree("radii", [severity / 100 * side] * _STARS)
  counts = values.array("nrays", _STARS)
  lengths = values.array("draw_ray_lengths", int(counts.sum()))
  return {
    "centers": values.floats("centers", _STARS, 2),
    "nrays": counts.astype(np.int32),
    "lengths": rays.padded(lengths, counts),
  }


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
