"""Plasma fractal: diamond-square on a torus, in integers.

docs/evidence/specs/corruptions.md section 3, fog (after FLHerne's mapgen). A map of side
2**n starts as one point of height 0; each level doubles the grid: centres of
the squares, then midpoints of the top and of the left edges, each the mean of
its four neighbours plus amplitude * U(-1, 1). The amplitude starts at 100**2
and is divided by decay**2 a level.

All noise of a map is one square field, arranged like wavelets: the noise that
refines `n x n` points is in the three `n x n` blocks beside the corner block.
So a level draws the same numbers for every map size, the first `2**l` rows and
columns make the map of side 2**l, and images of any size share one program.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import seeding
from robust_tfds.corruptions.ops import keep

START = 100.0**2  # the first level's amplitude
_FIXED = 12  # fractional bits of heights: |height| < 2**17


def amplitudes(decays: Sequence[float], levels: int) -> np.ndarray:
  """Return the amplitude of every level in fixed point, float32 `[5, levels]`."""
  level = np.arange(levels)
  rows = [START / float(d) ** (2 * level) for d in decays]
  return (np.stack(rows) * (1 << _FIXED)).astype(np.float32)


def draw(key: jax.Array, levels: int) -> jax.Array:
  """Draw U(-1, 1), float32 `[2**levels, 2**levels]`; the first element is unused."""
  side = 1 << levels
  return 2.0 * seeding.uniform(key, (side, side)) - 1.0


def heights(field: jax.Array, amplitude: jax.Array) -> list[jax.Array]:
  """Return the state after every level: int32 `[2**l, 2**l]` for l = 0..levels."""
  grids = [jnp.zeros((1, 1), jnp.int32)]
  for level in range((field.shape[0] - 1).bit_length()):
    n = 1 << level
    noise = field[: 2 * n, : 2 * n] * amplitude[level]
    noise = jnp.round(noise).astype(jnp.int32)
    squares, tops, lefts = noise[n:, n:], noise[:n, n:], noise[n:, :n]
    finer = _refine(grids[-1], squares, tops, lefts)
    grids.append(keep.keep(finer, amplitude[level]))
  return grids


def normalise(grid: jax.Array) -> tuple[jax.Array, jax.Array]:
  """Return heights above the lowest, int32, and the highest of them, float32."""
  above = grid - grid.min()
  return above, above.max().astype(jnp.float32)


def _refine(
  corners: jax.Array, squares: jax.Array, tops: jax.Array, lefts: jax.Array
) -> jax.Array:
  """Refine by one level: from `[n, n]` to `[2 n, 2 n]`."""
  below = jnp.roll(corners, -1, axis=0)
  right = jnp.roll(corners, -1, axis=1)
  columns = corners + below
  centre = _quarter(columns + jnp.roll(columns, -1, axis=1)) + squares
  top = _quarter(centre + jnp.roll(centre, 1, axis=0) + corners + right) + tops
  left = (
    _quarter(centre + jnp.roll(centre, 1, axis=1) + corners + below) + lefts
  )
  n = corners.shape[0]
  even = jnp.stack([corners, top], axis=-1).reshape(n, 2 * n)
  odd = jnp.stack([left, centre], axis=-1).reshape(n, 2 * n)
  return jnp.stack([even, odd], axis=1).reshape(2 * n, 2 * n)


def _quarter(total: jax.Array) -> jax.Array:
  return (total + 2) >> 2
