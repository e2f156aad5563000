"""Rotation of frames about their centres by nearest neighbours, as Pillow's.

Pillow walks the output in 16.16 fixed point, so whole numbers reproduce it
exactly on any backend. Black where the source ends; counter-clockwise.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import batching
from robust_tfds.corruptions.ops import packed

_ONE = 1 << 16
# Pixels that an accelerator turns together; at 16 bytes each 512 MiB.
_PIXELS = 1 << 25


def steps(degrees: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
  """The walk of each angle, on the host in float64.

  Args:
    degrees: counter-clockwise, `[N]`.
    shape: (height, width) of the frames.

  Returns:
    int32 `[N, 6]`: source column = (a0 x + a1 y + a2) >> 16, source row = (a3 x
    + a4 y + a5) >> 16.
  """
  height, width = shape
  radians = -np.deg2rad(np.asarray(degrees, np.float64) % 360)
  # Pillow rounds its matrix to 15 digits.
  cos, sin = np.round(np.cos(radians), 15), np.round(np.sin(radians), 15)
  middle = width / 2, height / 2
  across = cos * -middle[0] + sin * -middle[1] + middle[0]
  down = -sin * -middle[0] + cos * -middle[1] + middle[1]
  rows = [
    cos,
    sin,
    across + cos * 0.5 + sin * 0.5,
    -sin,
    cos,
    down - sin * 0.5 + cos * 0.5,
  ]
  fixed = np.floor(np.stack(rows, axis=-1) * _ONE + 0.5)
  return fixed.astype(np.int32)


def rotate(video: jax.typing.ArrayLike, walks: np.ndarray) -> jax.Array:
  """Turns every frame.

  Args:
    video: uint8 `[T, H, W, 3]`.
    walks: int32 `[T, 6]`, from `steps`.

  Returns:
    uint8 `[T, H, W, 3]`.
  """
  return _rotate(jnp.asarray(video), jnp.asarray(walks, jnp.int32))


@jax.jit
def _rotate(video: jax.Array, walks: jax.Array) -> jax.Array:
  height, width = video.shape[1:3]
  y = jnp.arange(height, dtype=jnp.int32)[:, None]
  x = jnp.arange(width, dtype=jnp.int32)[None]

  def turned(frame: jax.Array, walk: jax.Array) -> jax.Array:
    column = (walk[0] * x + walk[1] * y + walk[2]) >> 16
    row = (walk[3] * x + walk[4] * y + walk[5]) >> 16
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    words = packed.pack(frame).reshape(-1)
    index = jnp.where(inside, row * width + column, 0)
    return jnp.where(inside, words[index], 0)

  at_once = max(1, _PIXELS // (height * width))
  words = batching.over_batch(turned, video, walks, at_once=at_once)
  wide = jax.lax.bitcast_convert_type(words, jnp.uint8)
  return wide[..., :3]
