"""Borders of a picture that lies in the top-left corner of a canvas.

There are index maps (`reflect101`, `reflect`, `nearest`) and paddings with
them. Plugins pad by gathering rows and columns, which copies whole rows on
every backend and works for a traced valid size.
"""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import keep, layout, packed

# Maps integer positions into 0..valid-1.
Rule = Callable[[jax.Array, int | jax.Array], jax.Array]


def reflect101(index: jax.Array, valid: int | jax.Array) -> jax.Array:
  """Map any integer positions into 0..valid-1 by mirroring at pixel centres.

  OpenCV's BORDER_REFLECT_101: `c b | a b c d | c b`. Far positions mirror as
  often as it takes; a single pixel repeats.
  """
  last = jnp.asarray(valid - 1, index.dtype)
  period = jnp.maximum(2 * last, 1)
  return jnp.where(last == 0, 0, last - jnp.abs(index % period - last))


def reflect(index: jax.Array, valid: int | jax.Array) -> jax.Array:
  """Map positions like `reflect101`, mirrored at the pixels' outer edges: `b a
  | a b c d | d`.
  """
  valid = jnp.asarray(valid, index.dtype)
  folded = index % (2 * valid)
  return jnp.minimum(folded, 2 * valid - 1 - folded)


def nearest(index: jax.Array, valid: int | jax.Array) -> jax.Array:
  """Map positions outside to the nearest valid one: `a a | a b c d | d d`."""
  return jnp.clip(index, 0, jnp.asarray(valid - 1, index.dtype))


def pad(
  canvas: jax.Array,
  size: layout.Size,
  margin: tuple[int, int],
  channels: int = 1,
  natural: jax.Array | None = None,
) -> jax.Array:
  """Pad the picture with its edge pixels.

  Args:
    canvas: `[H, W * channels]`, channels interleaved.
    size: valid (height, width), Python ints or traced.
    margin: rows and columns to add on every side of the canvas.
    channels: values a pixel.
    natural: see `keep`; with it each axis is padded once, a third of the time.

  Returns:
    `[H + 2 * rows, (W + 2 * columns) * channels]`; the canvas beyond the
    picture holds repeated edges too.
  """
  height, width = canvas.shape[0], canvas.shape[1] // channels
  rows, columns = margin
  if isinstance(size[0], int) and tuple(size) == (height, width):
    left = jnp.tile(canvas[:, :channels], (1, columns))
    right = jnp.tile(canvas[:, -channels:], (1, columns))
    if natural is not None:
      left, right = keep.keep(left, natural), keep.keep(right, natural)
    canvas = jnp.concatenate([left, canvas, right], axis=1)
    if natural is not None:
      canvas = keep.keep(canvas, natural)
    return jnp.pad(canvas, ((rows, rows), (0, 0)), mode="edge")
  y = nearest(jnp.arange(-rows, height + rows), size[0])
  x = nearest(jnp.arange(-columns, width + columns), size[1])
  x = (x[:, None] * channels + jnp.arange(channels)).reshape(-1)
  return packed.columns(packed.rows(canvas, y), x)


def rotate180(canvas: jax.Array, size: layout.Size) -> jax.Array:
  """Turn the picture by 180 degrees within its own size; `[H, W]`."""
  height, width = canvas.shape
  turned = canvas[::-1, ::-1]
  if isinstance(size[0], int) and tuple(size) == (height, width):
    return turned
  turned = jnp.pad(turned, ((0, height), (0, width)))
  return jax.lax.dynamic_slice(
    turned, (height - size[0], width - size[1]), (height, width)
  )


def pad_reflect(
  canvas: jax.Array, size: layout.Size, margin: Sequence[int]
) -> jax.Array:
  """Pad the picture `[H, W]` with `margin` (rows, columns) of mirrored pixels.

  It mirrors at the pixels' outer edges (scipy's 'reflect'), as often as
  necessary.
  """
  rows, columns = (
    reflect(jnp.arange(-m, n + m, dtype=jnp.int32), valid)
    for m, n, valid in zip(margin, canvas.shape, size, strict=True)
  )
  return packed.columns(packed.rows(canvas, rows), columns)
