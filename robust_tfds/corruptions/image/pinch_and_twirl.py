"""Pinch and twirl: nine discs are drawn in and turned.

docs/evidence/specs/imagenet_c_bar.md section 4. Of 32 px pictures.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import bilinear, field, layout

SEVERITIES = {"cifar10": (5.5, 6, 6.5, 8.5, 10)}
_TURN = np.pi / 20  # a disc is turned by so much, times it
_PINCH, _OFFSET = 0.04, 0.1  # amount = severity * _PINCH + _OFFSET
_DISCS = 3  # along an axis


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `turn` in radians and `amount` of the pinch, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {
    "turn": (severities * _TURN).astype(np.float32),
    "amount": (severities * _PINCH + _OFFSET).astype(np.float32),
  }


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw the sense of each disc's turn, 1 or -1: float32 `[3, 3]`."""
  u = seeding.uniform(scene.key, (_DISCS, _DISCS))
  return jnp.where(u < 0.5, 1.0, -1.0)


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`; discs see what earlier ones changed."""
  block = min(scene.image.shape[:2]) // _DISCS
  levels = field.levels(scene.image)
  for i in range(_DISCS):
    for j in range(_DISCS):
      corner = j * block, i * block
      turn = draws[i, j] * scene.table["turn"]
      levels = _disc(levels, scene.size, corner, block, turn, scene.table)
  return layout.interleave(levels)


def _disc(
  levels: jax.Array,
  size: layout.Size,
  corner: tuple[int, int],
  block: int,
  turn: jax.Array,
  table: plugins.Table,
) -> jax.Array:
  """Return levels with one disc changed.

  Args:
    levels: float32 `[3, H, W]`.
    size: valid height and width.
    corner: (row, column) of the disc's block.
    block: side of the block in px.
    turn: angle of the turn at its centre.
    table: the plugin's.
  """
  radius = block / 2
  offset = np.arange(block) - radius
  away = np.hypot(offset[:, None], offset[None, :])
  changed = (away <= radius) & (np.round(away, 3) != 0)
  part = jnp.asarray(np.where(changed, away, radius) / radius, jnp.float32)
  pinch = jnp.sin(np.float32(np.pi / 2) * part) ** -table["amount"]
  angle = turn * (1 - part) ** 2
  down, across = (jnp.asarray(o, jnp.float32) * pinch for o in _both(offset))
  cos, sin = jnp.cos(angle), jnp.sin(angle)
  y = corner[0] + radius + cos * down - sin * across
  x = corner[1] + radius + cos * across + sin * down
  found = bilinear.sample(levels, size, y, x)
  rows = slice(corner[0], corner[0] + block)
  columns = slice(corner[1], corner[1] + block)
  before = levels[:, rows, columns]
  return levels.at[:, rows, columns].set(jnp.where(changed, found, before))


def _both(offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  return offset[:, None], offset[None, :]


def accept(values: given_draws.Draws, severity: float, side: int) -> np.ndarray:
  """Return given draws in the form of `draw`."""
  values.agree("amount", severity * _PINCH + _OFFSET)
  angles = values.floats("angles", _DISCS, _DISCS)
  values.agree("angles", np.sign(angles) * severity * _TURN)
  return np.sign(angles)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
