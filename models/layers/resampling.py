"""Bilinear resizing in fixed shapes, by factors and limits that are data.

`short_side` is the rule of most detectors and segmenters: the shorter side becomes
one number, unless the longer one would exceed another.

A picture lies in the top-left corner of its array, and beyond its limit nothing is
read: one program serves all sizes.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np


def bilinear(
  x: jax.Array,
  factor: jax.Array,
  limit: jax.Array,
  out: tuple[int, ...],
  *,
  align_corners: bool = False,
) -> jax.Array:
  """Resize by two taps a side, as torch's `interpolate` without antialiasing.

  Args:
    x: `[H, W, C]`.
    factor: float32 `[2]`, px of `x` for one of the result, down and across.
    limit: int32 `[2]`, (height, width) of the picture in `x`; its border is
      repeated.
    out: (height, width) of the result.
    align_corners: whether the corners' centres stay in place rather than the
      corners; `factor` is then that of the sides less one px.

  Returns:
    `[*out, C]`.
  """

  def axis(side: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    half = 0.0 if align_corners else 0.5
    at = (jnp.arange(out[side]) + half) * factor[side] - half
    at = jnp.clip(at, 0, limit[side] - 1)
    low = jnp.floor(at).astype(jnp.int32)
    return low, jnp.minimum(low + 1, limit[side] - 1), at - low

  rows = _between(0, x.shape[0], x, *axis(0))
  return _between(1, x.shape[1], rows, *axis(1))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _between(
  side: int,
  length: int,
  x: jax.Array,
  low: jax.Array,
  high: jax.Array,
  share: jax.Array,
) -> jax.Array:
  """Read between two taps along a side.

  The gradient is of `x` alone, and a product of matrices: the transpose of reading
  by index adds one number after the other, which took eight times the whole rest.

  Args:
    side: axis of `x`.
    length: px of that side.
    x: `[H, W, C]`.
    low: int32 `[n]`, the first tap of each px of the result.
    high: int32 `[n]`, the second.
    share: float32 `[n]`, the second's weight, 0 to 1.
  """
  del length
  weights = jnp.expand_dims(share, [a for a in range(3) if a != side])
  first, second = (jnp.take(x, taps, side, mode="clip") for taps in (low, high))
  return first * (1 - weights) + second * weights


def _forward(
  side: int, length: int, x: jax.Array, *taps: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, ...]]:
  return _between(side, length, x, *taps), taps


def _backward(
  side: int, length: int, taps: tuple[jax.Array, ...], gradient: jax.Array
) -> tuple[jax.Array | np.ndarray, ...]:
  low, high, share = taps
  first, second = (
    jax.nn.one_hot(t, length, dtype=share.dtype) for t in (low, high)
  )
  weights = first * (1 - share[:, None]) + second * share[:, None]
  of_x = jnp.tensordot(
    weights, gradient, (0, side), precision="highest"
  ).astype(gradient.dtype)
  none = np.zeros(low.shape, jax.dtypes.float0)
  return jnp.moveaxis(of_x, 0, side), none, none, jnp.zeros_like(share)


_between.defvjp(_forward, _backward)


def antialiased(
  x: jax.Array, factor: jax.Array, limit: jax.Array, out: tuple[int, ...]
) -> jax.Array:
  """Resize by triangles that cover what a px of the result covers, as Pillow.

  Levels stay floats, where Pillow rounds after each pass. The arguments are those
  of `bilinear`.
  """

  def weights(side: int) -> jax.Array:
    centre = (jnp.arange(out[side])[:, None] + 0.5) * factor[side] - 0.5
    place = jnp.arange(x.shape[side])[None]
    stretch = jnp.maximum(factor[side], 1)
    near = jnp.maximum(1 - jnp.abs(place - centre) / stretch, 0)
    near = jnp.where(place < limit[side], near, 0)
    return near / jnp.maximum(near.sum(1, keepdims=True), 1e-6)

  return jnp.einsum(
    "oh,hwc,pw->opc", weights(0), x, weights(1), precision="highest"
  )


def short_side(sizes: jax.Array, short_px: int, long_px: int) -> jax.Array:
  """Return sides before they are floored or rounded: float32 `[B, 2]`.

  Args:
    sizes: int32 `[B, 2]`, (height, width) of each picture.
    short_px: the shorter side is resized to this.
    long_px: limit of the longer side, which reduces the shorter one.
  """
  sides = sizes.astype(jnp.float32)
  scale = jnp.minimum(short_px / sides.min(axis=1), long_px / sides.max(axis=1))
  # A hair more, so that 800 / 600 * 600 is 800 in float32 too.
  return sides * scale[:, None] * (1 + 1e-6)


def short_side_canvas(
  height: int, width: int, short_px: int, long_px: int
) -> tuple[int, int]:
  """Return (height, width) that hold all pictures of a canvas after `short_side`.

  A canvas of one orientation holds only pictures of that orientation
  (`robust_tfds/corruptions/canvas.py`), so its short side needs `short_px`.
  """
  if height == width:
    return long_px, long_px
  sides = (short_px, long_px)
  return sides if height < width else sides[::-1]
