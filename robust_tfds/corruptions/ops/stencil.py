"""3x3 neighbourhoods of a picture in the corner of a canvas."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import border, keep, layout, packed

Offset = tuple[int, int]


def neighbours(
  canvas: jax.Array,
  size: layout.Size,
  natural: jax.Array,
  rule: border.Rule = border.reflect101,
) -> Mapping[Offset, jax.Array]:
  """Return the nine shifted copies of `[H, W]`, by (row, column) offset in -1..1.

  Args:
    canvas: any dtype.
    size: valid (height, width); pixels beyond it are never read.
    natural: see `keep`: the canvas is padded once, not for each of the copies.
    rule: rule for positions outside, one of `ops/border.py`.
  """
  return shifts(keep.keep(_padded(canvas, size, rule), natural))


def _padded(
  canvas: jax.Array, size: layout.Size, rule: border.Rule
) -> jax.Array:
  """Pad to `[H + 2, W + 2]`: a margin of one around the picture."""
  height, width = canvas.shape
  if isinstance(size[0], int) and tuple(size) == canvas.shape:
    for axis, side in enumerate(size):
      ends = rule(jnp.array([-1, side], jnp.int32), side)
      before, after = jnp.split(jnp.take(canvas, ends, axis), 2, axis)
      canvas = jnp.concatenate([before, canvas, after], axis)
    return canvas
  rows = rule(jnp.arange(-1, height + 1, dtype=jnp.int32), size[0])
  columns = rule(jnp.arange(-1, width + 1, dtype=jnp.int32), size[1])
  return packed.columns(packed.rows(canvas, rows), columns)


def shifts(padded: jax.Array) -> Mapping[Offset, jax.Array]:
  """Return the shifted copies of `[H + 2, W + 2]`, a canvas with a margin of one."""
  height, width = padded.shape[0] - 2, padded.shape[1] - 2
  return {
    (y, x): padded[1 + y : 1 + y + height, 1 + x : 1 + x + width]
    for y in (-1, 0, 1)
    for x in (-1, 0, 1)
  }


def inside(shape: tuple[int, ...], size: layout.Size) -> jax.Array:
  """Return which pixels of a canvas belong to the picture, bool `[H, W]`."""
  rows = jnp.arange(shape[0])[:, None] < size[0]
  return rows & (jnp.arange(shape[1]) < size[1])
