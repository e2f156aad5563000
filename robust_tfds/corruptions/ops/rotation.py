"""Rotation of frames about their centres by nearest neighbours, like Pillow's.

Pillow walks the output in 16.16 fixed point, so whole numbers reproduce it
exactly on any backend. Rotation is counter-clockwise; outside the source it is
black.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import batching
from robust_tfds.corruptions.ops import layout, packed

_ONE = 1 << 16


def steps(
  degrees: np.ndarray,
  shape: tuple[int | np.ndarray, int | np.ndarray],
) -> np.ndarray:
  """Return the walk of each angle, on the host in float64.

  Args:
    degrees: counter-clockwise, `[N]`.
    shape: (height, width) of all frames, or `[N]` each.

  Returns:
    int32 `[N, 6]`: source column = (a0 x + a1 y + a2) >> 16, source row = (a3 x
    + a4 y + a5) >> 16.
  """
  rows = matrices(degrees, shape)
  # Pillow walks from the first pixel's centre.
  for first in (0, 3):
    for share in (first, first + 1):
      rows[..., first + 2] += rows[..., share] * 0.5
  return np.floor(rows * _ONE + 0.5).astype(np.int32)


def matrices(
  degrees: np.ndarray,
  shape: tuple[int | np.ndarray, int | np.ndarray],
) -> np.ndarray:
  """Return the matrices that `Image.rotate` passes to `Image.transform`;
  arguments as for `steps`.

  Returns:
    float64 `[N, 6]`.
  """
  height, width = shape
  radians = -np.deg2rad(np.asarray(degrees, np.float64) % 360)
  # Pillow rounds its matrix to 15 digits.
  cos, sin = np.round(np.cos(radians), 15), np.round(np.sin(radians), 15)
  middle = width / 2, height / 2
  across = cos * -middle[0] + sin * -middle[1] + middle[0]
  down = -sin * -middle[0] + cos * -middle[1] + middle[1]
  return np.stack([cos, sin, across, -sin, cos, down], axis=-1)


def rotate(video: jax.typing.ArrayLike, walks: np.ndarray) -> jax.Array:
  """Rotate every frame.

  Args:
    video: uint8 `[T, H, W, 3]`.
    walks: int32 `[T, 6]`, from `steps`.

  Returns:
    uint8 `[T, H, W, 3]`.
  """
  flat = _rotate(jnp.asarray(video), jnp.asarray(walks, jnp.int32))
  return flat.reshape(np.shape(video))


@jax.jit
def _rotate(video: jax.Array, walks: jax.Array) -> jax.Array:
  return batching.over_pictures(turned, video, None, walks)


def turned(frame: jax.Array, size: layout.Size, walk: jax.Array) -> jax.Array:
  """Return one frame after its walk.

  Args:
    frame: uint8 `[H, W, 3]`, the picture in the top-left corner.
    size: valid (height, width), for which the walk was made.
    walk: int32 `[6]`, from `steps`.

  Returns:
    uint8 `[H, W * 3]`, undefined outside the size.
  """
  y, x = (
    jax.lax.broadcasted_iota(jnp.int32, frame.shape[:2], i) for i in (0, 1)
  )
  column = (walk[0] * x + walk[1] * y + walk[2]) >> 16
  row = (walk[3] * x + walk[4] * y + walk[5]) >> 16
  inside = (column >= 0) & (column < size.w) & (row >= 0) & (row < size.h)
  words = packed.pack(frame).reshape(-1)
  index = jnp.where(inside, row * frame.shape[1] + column, 0)
  levels = words.at[index].get(mode="promise_in_bounds")
  return packed.bytes_of(jnp.where(inside, levels, 0))


def apply(
  frame: jax.Array, size: layout.Size, draws: Mapping[str, jax.Array]
) -> jax.Array:
  """Apply `turned` with the draws' `walk`, as plugins of videos need it."""
  return turned(frame, size, draws["walk"])
