"""Borders of a picture that lies in the top-left corner of a canvas."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import border
from robust_tfds.corruptions.ops import packed


def pad(
  canvas: jax.Array, size, margin: tuple[int, int], channels: int = 1
) -> jax.Array:
  """The picture with its edge pixels repeated around it.

  Args:
    canvas: `[H, W * channels]`, channels interleaved.
    size: valid (height, width), Python ints or traced.
    margin: rows and columns to add on every side of the canvas.
    channels: values a pixel.

  Returns:
    `[H + 2 * rows, (W + 2 * columns) * channels]`; the canvas beyond the
    picture holds repeated edges too.
  """
  height, width = canvas.shape[0], canvas.shape[1] // channels
  rows, columns = margin
  if isinstance(size[0], int) and tuple(size) == (height, width):
    canvas = jnp.pad(canvas, ((rows, rows), (0, 0)), mode="edge")
    left = jnp.tile(canvas[:, :channels], (1, columns))
    right = jnp.tile(canvas[:, -channels:], (1, columns))
    return jnp.concatenate([left, canvas, right], axis=1)
  y = border.nearest(jnp.arange(-rows, height + rows), size[0])
  x = border.nearest(jnp.arange(-columns, width + columns), size[1])
  x = (x[:, None] * channels + jnp.arange(channels)).reshape(-1)
  return packed.columns(packed.rows(canvas, y), x)


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
