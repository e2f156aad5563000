"""The resize of `robust_tfds/resizing.py` as two products, for traced sizes.

Bilinear and antialiased, first across, then down, each pass rounded to uint8, with
weights in 22-bit fixed point: the host's bytes. Weights are made in float64, their
sums in the host's order. All sums of levels are of whole numbers that float32
holds exactly: no canvas, batch or device can change a bit.
"""

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import double

# Top, left, height and width: ints, or traced int32.
Side = int | jax.Array
Box = tuple[Side, Side, Side, Side]
_BITS = 22  # bits of a weight: Resample.c, PRECISION_BITS
# Weights are multiplied in two parts. A sum of high parts is below 2**22; one of
# low parts below 2**24 as long as no more than 256 pixels meet in one.
_LOW_BITS = 8


def bilinear(image: jax.Array, box: Box, out: tuple[int, int]) -> jax.Array:
  """Resize a box of an image.

  Args:
    image: uint8 `[H, W, 3]`.
    box: (top, left, height, width) of the part to resize, in px; at most 128
      times as large as the result.
    out: (height, width) of the result.

  Returns:
    uint8 `[out[0], out[1], 3]`.
  """
  top, left, height, width = box
  zero = double.run_time_zero(image)
  down = _weights(top, height, image.shape[0], out[0], zero)
  across = _weights(left, width, image.shape[1], out[1], zero)
  levels = image.transpose(2, 0, 1)
  levels = _weighted("chw,ow->cho", levels, across)
  levels = _weighted("chw,oh->cow", levels, down)
  return levels.transpose(1, 2, 0).astype(jnp.uint8)


def _weighted(axes: str, levels: jax.Array, weights: jax.Array) -> jax.Array:
  """Compute levels 0..255 after one pass: int32.

  Args:
    axes: axes of levels, weights and result, as einsum writes them.
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


def _weights(
  start: Side, length: Side, canvas: int, out: int, zero: jax.Array
) -> jax.Array:
  """Return weights int32 `[out, canvas]`, as in `resizing.taps`; rows sum to
  about 2**22.

  Args:
    start: start of the box, in px.
    length: length of the box.
    canvas: length of the image.
    out: length of the result.
    zero: `double.run_time_zero`.
  """
  with jax.enable_x64(True):
    # Run-time values, or XLA would multiply with a reciprocal.
    length, count = (jnp.asarray(n, jnp.int64) + zero for n in (length, out))
    scale = length.astype(jnp.float64) / count.astype(jnp.float64)
    stretch = jnp.maximum(scale, 1.0)
    share = double.rounded(1.0 / stretch, zero)  # or XLA divides by it
    center = double.rounded((jnp.arange(out) + 0.5) * scale, zero)
    first = jnp.maximum((center - stretch + 0.5).astype(jnp.int64), 0)
    last = jnp.minimum((center + stretch + 0.5).astype(jnp.int64), length)

    def weight(places: jax.Array, center: jax.Array) -> jax.Array:
      place = double.rounded((places - center + 0.5) * share, zero)
      return jnp.maximum(1.0 - jnp.abs(place), 0.0)

    def add(k: jax.Array, total: jax.Array) -> jax.Array:
      at = first + k
      return total + jnp.where(at < last, weight(at, center), 0.0)

    most = (last - first).max()
    total = jax.lax.fori_loop(0, most, add, jnp.zeros(out, jnp.float64))
    at = jnp.arange(canvas)[None, :] - start
    inside = (at >= first[:, None]) & (at < last[:, None])
    weights = weight(at, center[:, None]) / total[:, None]
    fixed = jnp.where(inside, weights, 0.0) * (1 << _BITS)
    return (fixed + 0.5).astype(jnp.int32)
