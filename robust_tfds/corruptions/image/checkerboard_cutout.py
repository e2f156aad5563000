"""Checkerboard cutout: a turned chequered board with some fields grey.

docs/evidence/specs/imagenet_c_bar.md section 3 (9).
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import field, layout

SEVERITIES = {  # tenths of the black fields that are grey
  "imagenet": (2, 3, 4, 5, 6),
  "cifar10": (1, 2, 3, 4, 5),
}
_GREY = 128.0
_FIELDS = 40  # a side of the largest board: 4 / 0.1


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `fraction` of the black fields that are grey, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"fraction": (severities / 10).astype(np.float32)}


def draw(scene: plugins.Scene) -> dict[str, jax.Array]:
  """Draw `angle`, side `scale` of a field in px, and a uniform a field.

  `fields` is the number of fields along a side; the others are not used.
  """
  u, side = (
    seeding.uniform(scene.key, (2,)),
    field.side(scene.image, scene.size),
  )
  scale = jnp.maximum((0.1 + 0.15 * u[1]) * side, 1)
  draws = {
    "angle": np.float32(2 * np.pi) * u[0],
    "scale": scale,
    "fields": jnp.floor(4 * side / scale).astype(jnp.int32),
    "uniform": seeding.uniform(scene.key, (_FIELDS, _FIELDS), 1),
  }
  return field.settled(draws, scene.table["severity"])


def apply(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  y, x = field.coordinates(scene.image.shape)
  cos, sin = jnp.cos(draws["angle"]), jnp.sin(draws["angle"])
  across = (cos * y + sin * x) / draws["scale"]
  down = (cos * x - sin * y) / draws["scale"]
  black = (jnp.floor(across) - jnp.floor(down)).astype(jnp.int32) & 1 == 0
  # The board's own fields begin at 0 in both directions: indices are truncated
  # toward zero, and negative ones count from the end.
  at = [n.astype(jnp.int32) for n in (across, down)]
  row, column = (jnp.where(i < 0, i + draws["fields"], i) for i in at)
  covered = draws["uniform"] < scene.table["fraction"]
  grey = black & covered[row, column]
  levels = jnp.where(grey, np.float32(_GREY), field.levels(scene.image))
  return layout.interleave(levels)


def accept(values: given_draws.Draws, severity: float, side: int) -> dict:
  """Return given draws in the form of `draw`."""
  values.agree("fraction", severity / 10)
  grid = values.array("draw_grid_uniform", None, None)
  rest = [(0, max(0, _FIELDS - n)) for n in grid.shape]
  return {
    "angle": values.floats("angle"),
    "scale": values.floats("scales", 2)[0],
    "fields": np.int32(len(grid)),
    "uniform": np.pad(grid.astype(np.float32), rest),
  }


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
