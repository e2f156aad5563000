"""Canny edges as OpenCV computes them: aperture 3, L1 norm, integers.

The steps are Sobel with replicated edges; magnitude |dx| + |dy|, 0 outside the
picture; non-maximum suppression in four directions, separated by tan(22.5
degrees) in 15-bit fixed point; hysteresis over 8-connected pixels.
"""

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import border, keep, layout, stencil

_TAN22 = 13573  # tan(22.5 degrees) * 2**15


def edges(
  levels: jax.Array,
  size: layout.Size,
  natural: jax.Array,
  low: int,
  high: int,
) -> jax.Array:
  """Find edge pixels.

  Args:
    levels: int32 `[H, W]`, 0..255.
    size: valid (height, width).
    natural: see `keep`.
    low: weak edges have a magnitude above it.
    high: strong edges have a magnitude above it.

  Returns:
    bool `[H, W]`, False outside the picture.
  """
  inside = stencil.inside(levels.shape, size)
  near = stencil.neighbours(levels, size, natural, border.nearest)
  dx = sum(w * (near[y, 1] - near[y, -1]) for y, w in _SMOOTH)
  dy = sum(w * (near[1, x] - near[-1, x]) for x, w in _SMOOTH)
  across, down = jnp.abs(dx), jnp.abs(dy)
  magnitude = jnp.where(inside, across + down, 0)
  around = stencil.shifts(keep.keep(jnp.pad(magnitude, 1), natural))
  magnitude = around[0, 0]
  flat = across * _TAN22
  steep = flat + (across << 16)
  y = down << 15

  def beats(before: stencil.Offset, after: stencil.Offset) -> jax.Array:
    return (magnitude > around[before]) & (magnitude >= around[after])

  def diagonal(slope: int) -> jax.Array:
    ahead, behind = around[-1, -slope], around[1, slope]
    return (magnitude > ahead) & (magnitude > behind)

  opposite = (dx ^ dy) < 0
  peak = jnp.where(opposite, diagonal(-1), diagonal(1))
  peak = jnp.where(y > steep, beats((-1, 0), (1, 0)), peak)
  peak = jnp.where(y < flat, beats((0, -1), (0, 1)), peak)
  weak = peak & (magnitude > low)
  return connected(weak & (magnitude > high), weak)


_SMOOTH = ((-1, 1), (0, 2), (1, 1))  # Sobel's weights across the derivative


def connected(seeds: jax.Array, allowed: jax.Array) -> jax.Array:
  """Return pixels of `allowed` that touch the seeds through it, 8-connected."""
  allowed = allowed.astype(jnp.uint8)

  def grow(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
    reached, _ = state
    larger = _dilate(_dilate(reached) & allowed) & allowed
    return larger, (larger != reached).any()

  start = (seeds.astype(jnp.uint8), jnp.bool_(True))
  return jax.lax.while_loop(lambda s: s[1], grow, start)[0] == 1


def _dilate(mask: jax.Array) -> jax.Array:
  wide = jnp.pad(mask, ((1, 1), (0, 0)))
  tall = wide[:-2] | wide[1:-1] | wide[2:]
  wide = jnp.pad(tall, ((0, 0), (1, 1)))
  return wide[:, :-2] | wide[:, 1:-1] | wide[:, 2:]
