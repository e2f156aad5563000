"""Borders of a picture that lies in the top-left corner of a canvas."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import border
from robust_tfds.corruptions.ops import packed


def replicate(canvas: jax.Array, size, channels: int = 1) -> jax.Array:
  """Fills what lies outside the picture with its last row and column.

  Args:
    canvas: `[H, W * channels]`, channels interleaved.
    size: valid (height, width), Python ints or traced.
    channels: values a pixel.
  """
  height, width = canvas.shape[0], canvas.shape[1] // channels
  if isinstance(size[0], int) and tuple(size) == (height, width):
    return canvas
  last = jax.lax.dynamic_slice_in_dim(
    canvas, (size[1] - 1) * channels, channels, axis=1
  )
  inside = jnp.arange(width * channels) < size[1] * channels
  canvas = jnp.where(inside, canvas, jnp.tile(last, (1, width)))
  bottom = jax.lax.dynamic_slice_in_dim(canvas, size[0] - 1, 1, axis=0)
  return jnp.where(jnp.arange(height)[:, None] < size[0], canvas, bottom)


def pad(
  canvas: jax.Array, size, margin: tuple[int, int], channels: int = 1
) -> jax.Array:
  """`replicate`, then `margin` (rows, columns) more pixels on every side."""
  canvas = replicate(canvas, size, channels)
  rows, columns = margin
  canvas = jnp.pad(canvas, ((rows, rows), (0, 0)), mode="edge")
  left = jnp.tile(canvas[:, :channels], (1, columns))
  right = jnp.tile(canvas[:, -channels:], (1, columns))
  return jnp.concatenate([left, canvas, right], axis=1)


def rotate180(canvas: jax.Array, size) -> jax.Array:
  """The picture turned by 180 degrees within its own size; `[H, W]`."""
  height, width = canvas.shape
  turned = canvas[::-1, ::-1]
  if isinstance(size[0], int) and tuple(size) == (height, width):
    return turned
  turned = jnp.pad(turned, ((0, height), (0, width)))
  return jax.lax.dynamic_slice(
    turned, (height - size[0], width - size[1]), (height, width)
  )


def pad_reflect(canvas: jax.Array, size, margin) -> jax.Array:
  """The picture `[H, W]` with `margin` (rows, columns) mirrored around it.

  Mirrors at the pixels' outer edges (scipy's 'reflect'), as often as it takes.
  """
  rows, columns = (
      border.reflect(jnp.arange(-m, n + m, dtype=jnp.int32), valid)
      for m, n, valid in zip(margin, canvas.shape, size, strict=True)
  )
  return packed.columns(packed.rows(canvas, rows), columns)
