"""Bilinear sampling at any positions, black outside the picture."""

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import layout


def sample(
  levels: jax.Array, size: layout.Size, y: jax.Array, x: jax.Array
) -> jax.Array:
  """Return levels at positions: each neighbour outside counts as black.

  Args:
    levels: float32 `[3, H, W]`.
    size: valid height and width.
    y: rows, float32, of a shape that broadcasts with that of `x`.
    x: columns.

  Returns:
    float32 `[3, ...]`.
  """
  y, x = jnp.broadcast_arrays(y, x)
  top, left = jnp.floor(y), jnp.floor(x)
  down, across = y - top, x - left
  out = jnp.zeros((3, *y.shape), jnp.float32)
  for row, weight_y in ((top, 1 - down), (top + 1, down)):
    for column, weight_x in ((left, 1 - across), (left + 1, across)):
      inside = (row >= 0) & (row < size.h) & (column >= 0) & (column < size.w)
      at = row.astype(jnp.int32), column.astype(jnp.int32)
      found = levels.at[:, *at].get(mode="clip")
      out += jnp.where(inside, weight_y * weight_x, 0) * found
  return out
