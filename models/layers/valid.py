"""Layers of pictures that share a canvas, as if each were alone.

A picture lies in the top-left corner. What lies beyond it is zeroed before each layer
that looks at neighbours, as torch pads with zeros, and left out of means: so no
canvas changes an answer.
"""

import jax
import jax.numpy as jnp


def area(sizes: jax.Array, height: int, width: int) -> jax.Array:
  """Return where pictures are: bool `[B, height, width]`.

  Args:
    sizes: int32 `[B, 2]`, (height, width) of each picture.
    height: height of the canvas.
    width: width of the canvas.
  """
  rows = jnp.arange(height)[None, :, None] < sizes[:, 0, None, None]
  return rows & (jnp.arange(width)[None, None] < sizes[:, 1, None, None])


def inside(x: jax.Array, sizes: jax.Array) -> jax.Array:
  """Return `[B, H, W, C]` with zeros beyond the pictures."""
  return jnp.where(area(sizes, *x.shape[1:3])[..., None], x, 0)


def mean(x: jax.Array, sizes: jax.Array) -> jax.Array:
  """Average `[B, H, W, C]` over the pictures' pixels: `[B, 1, 1, C]`."""
  count = sizes.prod(axis=1).astype(jnp.float32)[:, None, None, None]
  total = inside(x, sizes).sum((1, 2), keepdims=True, dtype=jnp.float32)
  return (total / count).astype(x.dtype)


def strided(sizes: jax.Array, stride: int) -> jax.Array:
  """Return sizes after a layer of odd kernel k, padded by k // 2."""
  return -(-sizes // stride)
