"""Cocentric sine waves: rings with a wavy edge around a random point.

docs/evidence/specs/imagenet_c_bar.md section 3 (2); the authors' spelling.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import field

SEVERITIES = {"imagenet": (3, 5, 8, 9, 10)}  # intensity in tenths of 128
_HIGHEST = 128.0


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `intensity`, the height of a ring in levels, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"intensity": (severities * (_HIGHEST / 10)).astype(np.float32)}


def draw(scene: plugins.Scene) -> dict[str, jax.Array]:
  """Draw the centre `offset` (column, row), and the shape of the rings."""
  u, side = (
    seeding.uniform(scene.key, (5,)),
    field.side(scene.image, scene.size),
  )
  draws = {
    "offset": u[:2] * side,
    "freq": 10 * u[2],
    "amplitude": u[3] * side / 10,
    "ring_width": u[4] * side / 10,
  }
  return field.settled(draws, scene.table["severity"])


def apply(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  y, x = field.coordinates(scene.image.shape)
  across, down = x - draws["offset"][0], y - draws["offset"][1]
  # The angle is measured from the vertical: the authors' order of arguments.
  wave = jnp.sin(jnp.arctan2(across, down) * draws["freq"]) * draws["amplitude"]
  distance = jnp.sqrt(across * across + down * down) + wave
  width = draws["ring_width"]
  ring = distance - width * jnp.floor(distance / width)
  pattern = scene.table["intensity"] * (ring / width - 0.5)
  return field.add(scene.image, pattern)


def accept(values: given_draws.Draws, severity: float, side: int) -> dict:
  """Return given draws in the form of `draw`."""
  values.agree("intensity", [severity * _HIGHEST / 10] * 3)
  alone = ("freq", "amplitude", "ring_width")
  return {
    "offset": values.floats("offset", 2),
    **{name: values.floats(name) for name in alone},
  }


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
