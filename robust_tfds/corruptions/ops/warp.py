"""Sampling of an image at computed coordinates, black outside: Pillow and OpenCV.

RGB is packed into one int32 a pixel, so that one gather serves three channels.
"""

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import double, layout
from robust_tfds.corruptions.ops import packed as packed_lib

_STEPS = 32  # OpenCV's INTER_TAB_SIZE: coordinates in 1/32 px
_BITS = 11  # bits of a weight: two and a level fill an int32


def pack(image: jax.Array) -> jax.Array:
  """Pack uint8 `[H, W, 3]` to int32 `[H, W]`, one byte a channel."""
  c = image.astype(jnp.int32)
  return c[..., 0] | (c[..., 1] << 8) | (c[..., 2] << 16)


def _channels(packed: jax.Array) -> jax.Array:
  """Unpack int32 `[...]` to `[3, ...]`."""
  return jnp.stack([(packed >> s) & 255 for s in (0, 8, 16)])


def _read(packed: jax.Array, y: jax.Array, x: jax.Array) -> jax.Array:
  height, width = packed.shape
  flat = jnp.clip(y, 0, height - 1) * width + jnp.clip(x, 0, width - 1)
  return packed.reshape(-1)[flat]


def pillow_nearest(
  packed: jax.Array, u: jax.Array, v: jax.Array, size: layout.Size
) -> jax.Array:
  """Sample by Pillow's NEAREST transform at pixel-centre coordinates (u, v).

  Args:
    packed: int32 `[H, W]` from `pack`.
    u: column coordinates, float32; a pixel's centre lies at +0.5.
    v: row coordinates, of the shape of `u`.
    size: valid (height, width).

  Returns:
    int32 levels `[3, *u.shape]`, 0 outside the image.
  """
  h, w = size
  inside = (u >= 0) & (u < w) & (v >= 0) & (v < h)
  got = _read(packed, jnp.floor(v).astype(int), jnp.floor(u).astype(int))
  return _channels(jnp.where(inside, got, 0))


def pillow_affine(
  packed: jax.Array,
  x: jax.Array,
  y: jax.Array,
  matrix: jax.Array,
  size: layout.Size,
) -> jax.Array:
  """Apply Pillow's BILINEAR affine transform: docs/evidence/specs/imagenet_p.md section
  1.

  Neighbours are clamped to the edge, and outside the image it is black. Many
  exact results are whole levels (a scale of 0.6 samples at thirds of pixels),
  and the last bit of a float64 decides whether Pillow truncates them to k or to
  k - 1; so this one function computes in float64, without fused multiply-adds.
  Float32 is off by one in up to 9 % of a frame.

  Args:
    packed: int32 `[H, W]` from `pack`.
    x: output columns, float32 whole numbers; any shape.
    y: output rows, of the shape of `x`.
    matrix: int32 `[2, 2, 2]`: the bits of four float64 (`double.bits`), from
      output to source around (w / 2 + 0.5, h / 2 + 0.5), which is torchvision
      0.2's centre.
    size: valid (height, width).

  Returns:
    int32 levels `[3, *x.shape]`, truncated.
  """
  h, w = size
  with jax.enable_x64(True):
    m, zero = double.value(matrix), double.run_time_zero(matrix)
    x, y = x.astype(jnp.float64) + 0.5, y.astype(jnp.float64) + 0.5

    def along(row: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
      return double.rounded(row[0] * x, zero) + double.rounded(row[1] * y, zero)

    center_x = jnp.asarray(w).astype(jnp.float64) / 2 + 0.5
    center_y = jnp.asarray(h).astype(jnp.float64) / 2 + 0.5
    u = along(m[0], x, y) + (along(m[0], -center_x, -center_y) + center_x)
    v = along(m[1], x, y) + (along(m[1], -center_x, -center_y) + center_y)
    inside = (u >= 0) & (u < w) & (v >= 0) & (v < h)
    x0, y0 = jnp.floor(u - 0.5), jnp.floor(v - 0.5)
    fx, fy = u - 0.5 - x0, v - 0.5 - y0
    left, top = x0.astype(jnp.int32), y0.astype(jnp.int32)

    def read(row: jax.Array, column: jax.Array) -> jax.Array:
      row, column = jnp.clip(row, 0, h - 1), jnp.clip(column, 0, w - 1)
      return _channels(_read(packed, row, column)).astype(jnp.float64)

    def between(a: jax.Array, b: jax.Array, f: jax.Array) -> jax.Array:
      return a + double.rounded((b - a) * f, zero)

    above = between(read(top, left), read(top, left + 1), fx)
    below = between(read(top + 1, left), read(top + 1, left + 1), fx)
    level = between(above, below, fy)
    return jnp.where(inside, level, 0.0).astype(jnp.int32)


def pillow_bilinear(
  words: jax.Array, matrix: jax.Array, size: layout.Size
) -> jax.Array:
  """Apply Pillow's BILINEAR affine transform to within one level, for speed.

  `pillow_affine` is exact; this function rounds coordinates to 2**-11 px, which
  changes a level by one if the sum is next to a whole number, and costs a
  fraction. Which pixels are inside is decided in float64 as in Pillow: an edge
  pixel that is black here is black there.

  Args:
    words: packed picture, uint32 `[H, W]`.
    matrix: int32 `[6, 2]`: the bits of six float64 (`double.bits`), as Pillow's
      `transform` takes them: source column of output (x, y) at a0 x + a1 y + a2,
      row at a3 x + a4 y + a5; a pixel's centre lies at +0.5.
    size: valid (height, width), below 2**15.

  Returns:
    uint32 `[H, W]`, 0 outside the picture.
  """
  with jax.enable_x64(True):
    m, zero = double.value(matrix), double.run_time_zero(matrix)
    y, x = (jnp.arange(n, dtype=jnp.float64) + 0.5 for n in words.shape)

    def along(row: jax.Array) -> jax.Array:
      across, down = (
        double.rounded(share * place, zero) for share, place in zip(row, (x, y))
      )
      return (across + down[:, None]) + row[2]

    u, v = along(m[:3]), along(m[3:])
    inside = (u >= 0) & (u < size.w) & (v >= 0) & (v < size.h)
    u, v = (double.scaled_int(at - 0.5, _BITS) for at in (u, v))
  left, top = (
    [jnp.clip((at >> _BITS) + k, 0, side - 1) for k in (0, 1)]
    for at, side in ((u, size.w), (v, size.h))
  )
  flat, one = words.reshape(-1), 1 << _BITS
  across, down = (at & (one - 1) for at in (u, v))

  def line(row: jax.Array) -> list[jax.Array]:
    pair = (
      packed_lib.channels(
        flat.at[row * words.shape[1] + column].get(mode="promise_in_bounds")
      )
      for column in left
    )
    return [a * (one - across) + b * across for a, b in zip(*pair)]

  levels = (
    (above * (one - down) + below * down) >> (2 * _BITS)
    for above, below in zip(*map(line, top))
  )
  return jnp.where(inside, packed_lib.join(*levels), 0)


def opencv_bilinear(
  packed: jax.Array, u: jax.Array, v: jax.Array, size: layout.Size
) -> jax.Array:
  """Sample by OpenCV's bilinear warp with a black constant border.

  Coordinates are pixel indices, rounded to 1/32 px (half to even); the weighted
  sum is rounded half up: docs/evidence/specs/imagenet_p.md section 2, tilt.

  Returns:
    int32 levels `[3, *u.shape]`.
  """
  h, w = size
  with jax.enable_x64(True):  # the coordinates may be float64
    iu = jnp.round(u * _STEPS).astype(jnp.int32)
    iv = jnp.round(v * _STEPS).astype(jnp.int32)
  x0, y0 = iu >> 5, iv >> 5
  fx, fy = iu & (_STEPS - 1), iv & (_STEPS - 1)

  def read(row: jax.Array, column: jax.Array) -> jax.Array:
    inside = (column >= 0) & (column < w) & (row >= 0) & (row < h)
    return _channels(jnp.where(inside, _read(packed, row, column), 0))

  total = (
    (_STEPS - fy) * (_STEPS - fx) * read(y0, x0)
    + (_STEPS - fy) * fx * read(y0, x0 + 1)
    + fy * (_STEPS - fx) * read(y0 + 1, x0)
    + fy * fx * read(y0 + 1, x0 + 1)
  )
  return (total + _STEPS * _STEPS // 2) >> 10
