"""Pillow's antialiased bilinear resize as two products, for traced sizes.

Each output value is a triangle-weighted mean over its support in the input,
horizontal pass first, each pass rounded to uint8, with weights in 22-bit fixed
point (Pillow's Resample.c). Weights are made in float32, where Pillow takes
float64, so a value may differ by one level where the sum lies at k + 1/2. All sums
are of whole numbers that float32 holds exactly: no canvas, batch or device can
change a bit.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

# Top, left, height and width: ints, or traced int32.
Side = int | jax.Array
Box = tuple[Side, Side, Side, Side]
_BITS = 22  # of a weight: Resample.c, PRECISION_BITS
# Weights are multiplied in two parts. A sum of high parts is below 2**22; one of
# low parts below 2**24 as long as no more than 256 pixels meet in one.
_LOW_BITS = 8


def bilinear(image: jax.Array, box: Box, out: tuple[int, int]) -> jax.Array:
  """Resizes a box of an image.

  Args:
    image: uint8 `[H, W, 3]`.
    box: (top, left, height, width) of the part to resize, in px; at most 128
      times as large as the result.
    out: (height, width) of the result.

  Returns:
    uint8 `[out[0], out[1], 3]`.
  """
  top, left, height, width = box
  down = _weights(top, height, image.shape[0], out[0])
  across = _weights(left, width, image.shape[1], out[1])
  levels = image.transpose(2, 0, 1)
  levels = _weighted("chw,ow->cho", levels, across)
  levels = _weighted("chw,oh->cow", levels, down)
  return levels.transpose(1, 2, 0).astype(jnp.uint8)


def _weighted(axes: str, levels: jax.Array, weights: jax.Array) -> jax.Array:
  """Levels 0..255 after one pass: int32.

  Args:
    axes: of levels, weights and result, as einsum writes them.
    levels: whole numbers 0..255.
    weights: int32, in 22-bit fixed point.
  """
  pixels = levels.astype(jnp.float32)

  def product(part: jax.Array) -> jax.Array:
    sums = jnp.einsum(
      axes, pixels, part.astype(jnp.float32), precision="highest"
    )
    return sums.astype(jnp.int32)

  high = product(weights >> _LOW_BITS) << _LOW_BITS
  low = product(weights & (2**_LOW_BITS - 1))
  return jnp.clip((high + low + (1 << (_BITS - 1))) >> _BITS, 0, 255)


def _weights(start: Side, length: Side, canvas: int, out: int) -> jax.Array:
  """int32 `[out, canvas]`; rows sum to about 2**22 over the box."""
  length = jnp.asarray(length, jnp.float32)
  scale = length / out
  support = jnp.maximum(scale, 1.0)
  center = (jnp.arange(out, dtype=jnp.float32)[:, None] + 0.5) * scale
  low = jnp.maximum(jnp.floor(center - support + 0.5), 0.0)
  high = jnp.minimum(jnp.floor(center + support + 0.5), length)
  j = jnp.arange(canvas, dtype=jnp.float32)[None, :] - start
  weight = jnp.maximum(1.0 - jnp.abs(j + 0.5 - center) / support, 0.0)
  weight = jnp.where((j >= low) & (j < high), weight, 0.0)
  # Summed as whole numbers: floats would depend on the canvas.
  whole = (weight * (1 << _BITS) + 0.5).astype(jnp.int32)
  total = whole.sum(axis=1, keepdims=True).astype(jnp.float32)
  return (weight / total * 2.0 ** (2 * _BITS) + 0.5).astype(jnp.int32)
