"""Plasma fractal: diamond-square on a torus, in integers.

specs/corruptions.md section 3, fog (after FLHerne's mapgen). A map of side 2**n
starts as one point of height 0; each level doubles the grid: centres of the
squares, then midpoints of the top and of the left edges, each the mean of its
four neighbours plus amplitude * U(-1, 1). The amplitude starts at 100**2 and is
divided by decay**2 a level.

Level l draws the same numbers for every map size, so a map of side 2**l is the
state of a larger one after l levels: images of any size share one program.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import seeding

START = 100.0**2  # the first level's amplitude
_FIXED = 12  # fractional bits of heights: |height| < 2**17
Draws = Sequence[tuple[jax.Array, jax.Array, jax.Array]]


def amplitudes(decays: Sequence[float], levels: int) -> np.ndarray:
  """Amplitude of every level in fixed point, float32 `[5, levels]`."""
  level = np.arange(levels)
  rows = [START / float(d) ** (2 * level) for d in decays]
  return (np.stack(rows) * (1 << _FIXED)).astype(np.float32)


def draw(key: jax.Array, levels: int) -> Draws:
  """U(-1, 1) of every level: (squares, top edges, left edges) `[n, n]` each."""

  def field(n, stream):
    return 2.0 * seeding.uniform(key, (n, n), stream) - 1.0

  return [
    tuple(field(1 << level, 3 * level + k) for k in range(3))
    for level in range(levels)
  ]


def heights(draws: Draws, amplitude: jax.Array) -> list[jax.Array]:
  """The state after every level: int32 `[2**l, 2**l]` for l = 0..levels."""
  grids = [jnp.zeros((1, 1), jnp.int32)]
  for level, fields in enumerate(draws):
    grids.append(_refine(grids[-1], fields, amplitude[level]))
  return grids


def normalise(grid: jax.Array) -> tuple[jax.Array, jax.Array]:
  """Heights above the lowest, int32, and the highest of them, float32."""
  above = grid - grid.min()
  return above, above.max().astype(jnp.float32)


def _refine(corners, fields, amplitude):
  """One level: from `[n, n]` to `[2 n, 2 n]`."""
  squares, tops, lefts = (
    jnp.round(f * amplitude).astype(jnp.int32) for f in fields
  )
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


def _quarter(total):
  return (total + 2) >> 2
