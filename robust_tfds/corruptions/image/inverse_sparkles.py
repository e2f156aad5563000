"""Inverse sparkles: the picture shows through one star, the rest is white.

docs/evidence/specs/imagenet_c_bar.md section 3 (5).
"""

import jax
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import field, layout, rays

SEVERITIES = {  # the falloff's exponent in tenths of 65 / 50
  "imagenet": (1, 2, 4, 9, 10),
  "cifar10": (1, 1.5, 2.5, 4.5, 5),
}
_HIGHEST = 65.0
_RADIUS = 0.25  # of the picture's side


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `exponent` of the falloff, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"exponent": (severities * (_HIGHEST / 500)).astype(np.float32)}


def draw(scene: plugins.Scene) -> dict[str, jax.Array]:
  """Draw `center` (row, column), number of `rays`, and `lengths` in px."""
  side = field.side(scene.image, scene.size)
  count, normal = rays.draw(scene.key, 1, stream=1)
  draws = {
    "center": (0.25 + 0.5 * seeding.uniform(scene.key, (2,))) * side,
    "rays": count[0],
    "lengths": _RADIUS * side * (1 + rays.SPREAD * normal[0]),
  }
  return field.settled(draws, scene.table["severity"])


def apply(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  light = rays.light(
    scene.image.shape,
    draws["center"],
    draws["lengths"],
    draws["rays"],
    scene.table["exponent"],
  )
  return layout.interleave(255 + light * (field.levels(scene.image) - 255))


def accept(values: given_draws.Draws, severity: float, side: int) -> dict:
  """Return given draws in the form of `draw`."""
  values.agree("amount", 100 - severity * _HIGHEST / 10)
  values.agree("radius", _RADIUS * side)
  count = values.array("rays")
  lengths = values.array("draw_ray_lengths", int(count))
  return {
    "center": values.floats("center", 2),
    "rays": count.astype(np.int32),
    "lengths": rays.padded(lengths, count[None])[0],
  }


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
