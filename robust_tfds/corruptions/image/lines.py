"""Lines: a few anti-aliased grey lines of about one direction.

docs/evidence/specs/imagenet_c_bar.md sections 4 and 9. Of 32 px pictures.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import antialiased_line, field, layout

SEVERITIES = {"cifar10": (0.5, 1, 1.5, 2, 2.5)}  # tenths of a line a pixel
_GREY = 128.0
_MAX_LINES = 8  # lines: 2.5 tenths of 32


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `count` of lines, int32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  count = np.floor(severities / 10 * edition.side_px + 1e-9)
  return {"count": count.astype(np.int32)}


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw how much each line covers each pixel, float32 `[8, H, W]`."""
  side = field.side(scene.image, scene.size)
  u = seeding.uniform(scene.key, (2,))
  angle, variation = np.float32(2 * np.pi) * u[0], 0.1 + 0.9 * u[1]
  each = seeding.uniform(scene.key, (_MAX_LINES, 3), 1)
  angles = angle + np.float32(2 * np.pi) * variation * (each[:, 2] - 0.5)
  along = jnp.stack([jnp.cos(angles), jnp.sin(angles)], -1) * side
  start = (each[:, :2] * side - along).astype(jnp.int32)
  end = (each[:, :2] * side + along).astype(jnp.int32)
  longest = 2 * max(scene.image.shape[:2]) + 1
  return jax.vmap(
    lambda a, b: antialiased_line.coverage(a, b, scene.image.shape, longest)
  )(start, end)


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`; whole levels after every line."""
  levels = field.levels(scene.image)
  for i in range(_MAX_LINES):
    mixed = jnp.floor(levels + draws[i] * (_GREY - levels))
    levels = jnp.where(i < scene.table["count"], mixed, levels)
  return layout.interleave(levels)


def accept(values: given_draws.Draws, severity: float, side: int) -> np.ndarray:
  """Return given draws in the form of `draw`."""
  values.agree("density", severity / 10)
  flat = [
    values.array(f"draw_aa_{part}", None)
    for part in ("line", "row", "col", "value")
  ]
  covered = np.zeros((_MAX_LINES, side, side), np.float32)
  for line, row, column, value in zip(*flat, strict=True):
    covered[line, row, column] = value
  return covered


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
