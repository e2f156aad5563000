"""Perlin noise: grey turbulence of five octaves over the picture.

docs/evidence/specs/imagenet_c_bar.md section 3 (6).

DEVIATION: a gradient of length 0 is drawn again (the authors' turns part of one
picture in 1,000 black), and the permutation is uniform (theirs nearly is).
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import given_draws, plugins, seeding, spec
from robust_tfds.corruptions.ops import field

SEVERITIES = {"imagenet": (4.6, 5.2, 5.8, 7.6, 8.8)}  # twentieths of white
_CELLS = 7  # of the coarsest octave along the picture's side: 224 / 32
_OCTAVES = (1, 2, 4, 8, 16)
_PERIOD = 256
_STEPS = 512  # values of a gradient's coordinate before it has length 1


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `alpha`, the share of the noise, float32 `[5]`."""
  severities = np.array(edition.row(SEVERITIES), np.float64)
  return {"alpha": (severities / 20).astype(np.float32)}


def draw(scene: plugins.Scene) -> dict[str, jax.Array]:
  """Draw a `permutation` of 256 numbers, and 256 `gradients` of length 1."""
  words = seeding.bits(scene.key, (_PERIOD,))
  pair = seeding.bits(scene.key, (_PERIOD,), 1) >> 14  # 18 bits
  pair = pair.astype(jnp.int32)
  # All pairs but (0, 0) are alike: where that is drawn, draw once more.
  again = (seeding.bits(scene.key, (_PERIOD,), 2) >> 14).astype(jnp.int32)
  zero = _STEPS // 2 * _STEPS + _STEPS // 2
  pair = jnp.where(pair == zero, again | 1, pair)
  vectors = jnp.stack([pair // _STEPS, pair % _STEPS], -1) - _STEPS // 2
  vectors = vectors.astype(jnp.float32)
  return {
    "permutation": jnp.argsort(words).astype(jnp.int32),
    "gradients": vectors / jnp.linalg.norm(vectors, axis=-1, keepdims=True),
  }


def apply(scene: plugins.Scene, draws: dict[str, jax.Array]) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  cell_px = field.side(scene.image, scene.size) / _CELLS
  total = jnp.float32(0)
  for octave in _OCTAVES:
    rows, columns = (
      _weights(length, octave / cell_px, octave * _CELLS + 2)
      for length in scene.image.shape[:2]
    )
    octave_noise = _noise(rows, columns, draws)
    total += jnp.abs(octave_noise) / octave
  share = scene.table["alpha"]
  value = jnp.clip(0.5 * total + 0.5, 0, 1)
  return field.mix(scene.image, share, share * 255 * value)


def _weights(
  length: int, cells_a_pixel: jax.Array, points: int
) -> tuple[jax.Array, jax.Array]:
  """Return what each lattice point weighs at each position along an axis.

  Returns:
    The weights, float32 `[length, points]`, two of them not 0 in a row; and the
    weights times the distance from the point.
  """
  place = jnp.arange(length, dtype=jnp.float32) * cells_a_pixel
  away = place[:, None] - jnp.arange(points, dtype=jnp.float32)
  below = (away >= 0) & (away < 1)
  part = jnp.where(below, away, 1 + away)
  smooth = part * part * (3 - 2 * part)
  above = (away >= -1) & (away < 0)
  weight = jnp.where(below, 1 - smooth, jnp.where(above, smooth, 0))
  return weight, weight * away


def _noise(
  rows: tuple[jax.Array, jax.Array],
  columns: tuple[jax.Array, jax.Array],
  draws: dict[str, jax.Array],
) -> jax.Array:
  """Return one octave, float32 `[H, W]`.

  The blend of four gradients' heights is a product of matrices, whose rows
  have two numbers that are not 0: no order of summation changes it.
  """
  (row, row_away), (column, column_away) = rows, columns
  permutation, gradients = draws["permutation"], draws["gradients"]
  down = permutation[jnp.arange(row.shape[1]) % _PERIOD]
  at = (down[:, None] + jnp.arange(column.shape[1])) % _PERIOD
  vectors = gradients[permutation[at]]

  def product(a: jax.Array, lattice: jax.Array, b: jax.Array) -> jax.Array:
    exact = jax.lax.Precision.HIGHEST
    across = jnp.matmul(lattice, b.T, precision=exact)
    return jnp.matmul(a, across, precision=exact)

  height = product(row_away, vectors[..., 0], column)
  return 1.5 * (height + product(row, vectors[..., 1], column_away))


def accept(values: given_draws.Draws, severity: float, side: int) -> dict:
  """Return given draws in the form of `draw`."""
  values.agree("alpha", severity / 20)
  return {
    "permutation": values.array("draw_perm_table", _PERIOD).astype(np.int32),
    "gradients": values.floats("draw_grad_table", _PERIOD, 2),
  }


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
  accept=accept,
)
