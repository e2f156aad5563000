"""Memory layouts of a picture: canvases, flat rows, planes, levels.

A canvas is uint8 `[H, W, 3]` whose top-left `size.h` x `size.w` pixels are the
picture. XLA's CPU loops are vectorised along the minor axis, and an axis of 3
channels is too short: gaussian_noise takes 3.0 ms an image of 224 px when the
compiled function ends in `[B, H, W, 3]` and 0.48 ms when it ends in
`[B, H, W * 3]`. So plugins compute on `[H, W * 3]` (`flat`) or on `[3, H, W]`
(`planes`, back with `interleave`: 0.02-0.06 ms each way in uint8).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Size(NamedTuple):
  """A valid height and width in pixels: Python ints, or traced int32 scalars."""

  h: int | jax.Array
  w: int | jax.Array


def valid_size(shape: tuple[int, ...], size: jax.Array | None) -> Size:
  """Return the size of a picture in a canvas of that shape; None means that it
  fills it.
  """
  if size is None:
    return Size(shape[0], shape[1])
  return Size(size[0], size[1])


def flat(image: jax.Array) -> jax.Array:
  """Return `[H, W, 3]` as `[H, W * 3]`; the latter is returned unchanged."""
  return image.reshape(image.shape[0], -1)


def planes(image: jax.Array) -> jax.Array:
  """Return `[H, W, 3]` as `[3, H, W]`."""
  return image.transpose(2, 0, 1)


def interleave(channels: jax.Array) -> jax.Array:
  """Interleave planes `[3, H, W]` of levels to uint8 `[H, W * 3]`."""
  return flat(to_uint8(channels).transpose(1, 2, 0))


def to_uint8(levels: jax.Array) -> jax.Array:
  """Truncate levels toward zero, as the authors' `np.uint8(...)` does."""
  if levels.dtype == jnp.uint8:
    return levels
  # int32 between: XLA converts float to uint8 one element at a time.
  return jnp.clip(levels, 0, 255).astype(jnp.int32).astype(jnp.uint8)


def truncate(levels: jax.Array) -> jax.Array:
  """Truncate float32 numbers in 0..2**22 to int32.

  XLA's own conversion tests every value for NaN and both ends of int32, which
  costs more than what comes before it.
  """
  shifted = jnp.floor(levels) + np.float32(1 << 23)  # its bits count in ones
  return jax.lax.bitcast_convert_type(shifted, jnp.int32) & 0x7FFFFF


def mask(image: jax.Array, size: Size) -> jax.Array:
  """Clear everything outside the valid size of a `[H, W * 3]` canvas."""
  height, width = image.shape
  if isinstance(size.h, int) and (size.h, 3 * size.w) == (height, width):
    return image
  rows = jnp.arange(height) < size.h
  columns = jnp.arange(width) < 3 * size.w
  return jnp.where(rows[:, None] & columns, image, jnp.uint8(0))
