"""Pillow's antialiased bilinear resize as two products, for traced sizes.

Each output value is a triangle-weighted mean over its support in the input,
horizontal pass first, each pass rounded to uint8 (Pillow's Resample.c, which
holds the weights in 22-bit fixed point; here they are float32, so a value may
differ by one level where the exact sum lies at k + 1/2).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

# Top, left, height and width: ints, or traced int32.
Side = int | jax.Array
Box = tuple[Side, Side, Side, Side]


def bilinear(image: jax.Array, box: Box, out: tuple[int, int]) -> jax.Array:
  """Resizes a box of an image.

  Args:
    image: uint8 `[H, W, 3]`.
    box: (top, left, height, width) of the part to resize, in px.
    out: (height, width) of the result.

  Returns:
    uint8 `[out[0], out[1], 3]`.
  """
  top, left, height, width = box
  down = _weights(top, height, image.shape[0], out[0])
  across = _weights(left, width, image.shape[1], out[1])
  levels = image.transpose(2, 0, 1).astype(jnp.float32)
  highest = jax.lax.Precision.HIGHEST
  levels = _round(jnp.matmul(levels, across.T, precision=highest))
  levels = _round(jnp.matmul(down, levels, precision=highest))
  return levels.transpose(1, 2, 0).astype(jnp.int32).astype(jnp.uint8)


def _round(levels: jax.Array) -> jax.Array:
  return jnp.clip(jnp.floor(levels + 0.5), 0.0, 255.0)


def _weights(start: Side, length: Side, canvas: int, out: int) -> jax.Array:
  """float32 `[out, canvas]`; rows sum to 1 over the box."""
  length = jnp.asarray(length, jnp.float32)
  scale = length / out
  support = jnp.maximum(scale, 1.0)
  center = (jnp.arange(out, dtype=jnp.float32)[:, None] + 0.5) * scale
  low = jnp.maximum(jnp.floor(center - support + 0.5), 0.0)
  high = jnp.minimum(jnp.floor(center + support + 0.5), length)
  j = jnp.arange(canvas, dtype=jnp.float32)[None, :] - start
  weight = jnp.maximum(1.0 - jnp.abs(j + 0.5 - center) / support, 0.0)
  weight = jnp.where((j >= low) & (j < high), weight, 0.0)
  return weight / weight.sum(axis=1, keepdims=True)
