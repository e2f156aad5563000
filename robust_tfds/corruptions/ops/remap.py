"""Bilinear sampling of packed pixels at any positions, borders mirrored.

Gathers cost most here, so a word holds as many channels as fit: one word a
pixel for 8-bit levels, two for levels with 8 fractional bits.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import border, keep, layout

UNIT = 32  # OpenCV places samples on a grid of 1 / 32 px (INTER_BITS = 5)
_GRID = 1024  # and computes positions in 1 / 1024 px (AB_BITS = 10)
_LANES = 0x00FF00FF


class Fine(NamedTuple):
  """The levels with 8 fractional bits: uint32 `[H, W]` words."""

  red_green: jax.Array
  blue: jax.Array


def reflect101(index: jax.Array, valid: int | jax.Array) -> jax.Array:
  """Map positions like `border.reflect101`, by float division: integer division
  is scalar.
  """
  last = jnp.asarray(valid - 1, jnp.int32)
  folded = _modulo(index, jnp.maximum(2 * last, 1))
  return jnp.where(last == 0, 0, last - jnp.abs(folded - last))


def reflect(index: jax.Array, valid: int | jax.Array) -> jax.Array:
  """Map positions like `border.reflect`, for |index| below 2**20."""
  valid = jnp.asarray(valid, jnp.int32)
  folded = _modulo(index, 2 * valid)
  return jnp.minimum(folded, 2 * valid - 1 - folded)


def affine(
  words: jax.Array, matrix: jax.Array, size: layout.Size, natural: jax.Array
) -> Fine:
  """Warp like cv2.warpAffine(linear, BORDER_REFLECT_101), on its grid of 1 / 32 px.

  Args:
    words: packed RGB, uint32 `[H, W]`.
    matrix: float32 `[2, 3]`, from output (x, y, 1) to input (x, y).
    size: valid (height, width).
    natural: see `keep`: positions are computed once, not in every gather.
  """
  height, width = words.shape
  x = jnp.arange(width, dtype=jnp.float32)
  y = jnp.arange(height, dtype=jnp.float32)
  scaled = matrix * float(_GRID)

  def position(row: jax.Array) -> jax.Array:
    along = jnp.round(row[0] * x).astype(jnp.int32)
    down = jnp.round(row[1] * y + row[2]).astype(jnp.int32)
    half = _GRID // UNIT // 2
    along, down = keep.keep(along, natural), keep.keep(down, natural)
    at = (down[:, None] + along + half) // (_GRID // UNIT)
    return keep.keep(at, natural)

  columns, rows = position(scaled[0]), position(scaled[1])
  across, down = columns & (UNIT - 1), rows & (UNIT - 1)
  at = _corners(rows >> 5, columns >> 5, size, width, reflect101)
  flat = words.reshape(-1)

  def lanes(left: jax.Array, right: jax.Array, shift: int) -> jax.Array:
    a, b = ((_take(flat, i) >> shift) & _LANES for i in (left, right))
    a, b = a.astype(jnp.int32), b.astype(jnp.int32)
    return a * (UNIT - across) + b * across

  def mixed(top: jax.Array, bottom: jax.Array) -> jax.Array:
    total = top * (UNIT - down) + bottom * down
    return ((total + 2) >> 2).astype(jnp.uint32)  # 1 / 1024 to 1 / 256

  top, bottom = (lanes(left, right, 0) for left, right in at)  # red and blue
  red = mixed(top & 0xFFFF, bottom & 0xFFFF)
  blue = mixed(top >> 16, bottom >> 16)
  top, bottom = (lanes(left, right, 8) for left, right in at)  # green
  green = mixed(top & 0xFFFF, bottom & 0xFFFF)
  return Fine(red | (green << 16), blue)


def fine(words: jax.Array) -> Fine:
  """Convert packed 8-bit pixels to `Fine`."""
  red_green = ((words & 0xFF) << 8) | ((words & 0xFF00) << 16)
  return Fine(red_green, (words >> 8) & 0xFF00)


def displaced(
  source: Fine, rows: jax.Array, columns: jax.Array, size: layout.Size
) -> jax.Array:
  """Sample like scipy's map_coordinates(order=1, mode="reflect"), truncated to bytes.

  Args:
    source: the pixels to sample.
    rows: float32 `[H, W]`, row positions.
    columns: float32 `[H, W]`, column positions.
    size: valid (height, width).

  Returns:
    Packed RGB, uint32 `[H, W]`.
  """
  top, left = jnp.floor(rows), jnp.floor(columns)
  down, across = rows - top, columns - left
  width = rows.shape[1]
  at = _corners(
    top.astype(jnp.int32), left.astype(jnp.int32), size, width, reflect
  )

  def level(words: jax.Array, shift: int) -> jax.Array:
    words = words.reshape(-1)

    def line(pair: Sequence[jax.Array]) -> jax.Array:
      a, b = (
        ((_take(words, i) >> shift) & 0xFFFF).astype(jnp.int32) for i in pair
      )
      return a.astype(jnp.float32) + across * (b - a).astype(jnp.float32)

    above, below = line(at[0]), line(at[1])
    return (above + down * (below - above)).astype(jnp.int32) >> 8

  red = level(source.red_green, 0)
  green = level(source.red_green, 16)
  blue = level(source.blue, 0)
  return (red | (green << 8) | (blue << 16)).astype(jnp.uint32)


def _corners(
  top: jax.Array,
  left: jax.Array,
  size: layout.Size,
  width: int,
  rule: border.Rule,
) -> list[list[jax.Array]]:
  """Return flat indices of the four neighbours: ((tl, tr), (bl, br))."""
  rows = [rule(top + k, size[0]) * width for k in (0, 1)]
  columns = [rule(left + k, size[1]) for k in (0, 1)]
  return [[r + c for c in columns] for r in rows]


def _take(flat: jax.Array, index: jax.Array) -> jax.Array:
  return flat.at[index].get(mode="promise_in_bounds")


def _modulo(index: jax.Array, period: jax.Array) -> jax.Array:
  """Compute index mod period, exact for |index| < 2**20.

  Half a step is added before the division: XLA may multiply by the reciprocal,
  whose rounding could make a whole quotient too small.
  """
  middle = index.astype(jnp.float32) + 0.5
  turns = jnp.floor(middle / period.astype(jnp.float32))
  return index - turns.astype(jnp.int32) * period
