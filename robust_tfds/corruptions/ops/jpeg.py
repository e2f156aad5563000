"""A JPEG save and load as integer array code, bit for bit that of libjpeg.

Colour conversion, 4:2:0 chroma, libjpeg's `islow` forward and inverse DCT,
Annex-K quantisation and "fancy" (triangle) chroma upsampling; entropy coding is
lossless and left out. Facts: the JPEG standard (ITU-T T.81, Annex K) for the
tables; libjpeg's documented fixed-point arithmetic for the rest. Pillow is the
oracle of the tests.

Blocks are laid out as `[8, 8, N]`: every coefficient is one long vector.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.corruptions.ops import keep
from robust_tfds.corruptions.ops import layout
from robust_tfds.corruptions.ops import packed

_LUMA = (  # ITU-T T.81, table K.1
  (16, 11, 10, 16, 24, 40, 51, 61),
  (12, 12, 14, 19, 26, 58, 60, 55),
  (14, 13, 16, 24, 40, 57, 69, 56),
  (14, 17, 22, 29, 51, 87, 80, 62),
  (18, 22, 37, 56, 68, 109, 103, 77),
  (24, 35, 55, 64, 81, 104, 113, 92),
  (49, 64, 78, 87, 103, 121, 120, 101),
  (72, 92, 95, 98, 112, 100, 103, 99),
)
_CHROMA = (  # table K.2
  (17, 18, 24, 47, 99, 99, 99, 99),
  (18, 21, 26, 66, 99, 99, 99, 99),
  (24, 26, 56, 99, 99, 99, 99, 99),
  (47, 66, 99, 99, 99, 99, 99, 99),
  *((99,) * 8 for _ in range(4)),
)
_BITS, _PASS1 = 13, 2  # fixed point of the DCT, and of its first pass
_F = {  # the DCT's constants in 13 bits
  name: int(round(value * (1 << _BITS)))
  for name, value in {
    "0.298": 0.298631336,
    "0.390": 0.390180644,
    "0.541": 0.541196100,
    "0.765": 0.765366865,
    "0.899": 0.899976223,
    "1.175": 1.175875602,
    "1.501": 1.501321110,
    "1.847": 1.847759065,
    "1.961": 1.961570560,
    "2.053": 2.053119869,
    "2.562": 2.562915447,
    "3.072": 3.072711026,
  }.items()
}
_SIDE = 16  # px of a 4:2:0 unit


def tables(qualities: Sequence[int]) -> np.ndarray:
  """Quantisation tables, luma and chroma: int32 `[N, 2, 8, 8]`.

  Raises:
    ValueError: a quality outside 1..100.
  """
  rows = []
  for quality in qualities:
    if not 1 <= quality <= 100:
      raise errors.UserError(f"JPEG quality must be 1..100, got {quality}.")
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    base = np.array([_LUMA, _CHROMA])
    rows.append(np.clip((base * scale + 50) // 100, 1, 255))
  return np.stack(rows).astype(np.int32)


def roundtrip(
  image: jax.Array, size: layout.Size, table: jax.Array
) -> jax.Array:
  """The picture after a JPEG save and load.

  Args:
    image: uint8 `[H, W, 3]`, the picture in the top-left corner.
    size: valid (height, width), Python ints or traced.
    table: int32 `[2, 8, 8]`, one row of `tables`.

  Returns:
    uint8 `[H, W * 3]`, undefined outside the picture.
  """
  height, width = image.shape[:2]
  # Intermediates are stored (`keep`): fusions that recompute them, or that end
  # in three channels, take five times as long.
  always = table[0, 0, 0]
  words = keep.keep(_padded(packed.pack(image), size), always)
  luma, blue, red = _to_ycc(*packed.channels(words))
  half = (size[0] + 1) // 2, (size[1] + 1) // 2
  grids = [luma, *(_downsample(c, half[0]) for c in (blue, red))]
  grids = [keep.keep(g, always) for g in grids]
  stacks = [_blocks(g) for g in grids]
  edges = np.cumsum([s.shape[-1] for s in stacks])
  stacked = keep.keep(jnp.concatenate(stacks, axis=-1), always)
  coefficients = _forward(stacked - 128)
  parts = jnp.split(coefficients, edges[:-1], axis=-1)
  parts = [_quantise(p, table[min(i, 1)]) for i, p in enumerate(parts)]
  samples = _inverse(jnp.concatenate(parts, axis=-1))
  samples = jnp.clip(samples + 128, 0, 255)
  parts = jnp.split(samples, edges[:-1], axis=-1)
  luma, blue, red = (
    _grid(p, g.shape) for p, g in zip(parts, grids, strict=True)
  )
  blue, red = (
    _upsample(keep.keep(c, always), half, always) for c in (blue, red)
  )
  words = keep.keep(_to_rgb(luma, blue, red), always)
  return packed.bytes_of(words[:height, :width])


@functools.partial(jax.jit, static_argnums=1)
def roundtrip_batch(images: jax.Array, quality: int) -> jax.Array:
  """`roundtrip` of whole pictures: uint8 `[B, H, W, 3]` -> the same shape."""
  size = layout.valid_size(images.shape[1:], None)
  table = jnp.asarray(tables([quality])[0])
  flat = jax.lax.map(lambda image: roundtrip(image, size, table), images)
  return flat.reshape(images.shape)


def _padded(words: jax.Array, size: layout.Size) -> jax.Array:
  """Packed pixels `[H', W']` with sides of whole units, edges replicated."""
  for axis, valid in ((0, size[0]), (1, size[1])):
    n = words.shape[axis]
    whole = n + (-n) % _SIDE
    if isinstance(valid, int) and valid == whole:
      continue
    index = jnp.minimum(jnp.arange(whole), valid - 1)
    words = jnp.take(words, index, axis=axis, mode="clip")
  return words


def _to_ycc(
  r: jax.Array, g: jax.Array, b: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
  luma = (19595 * r + 38470 * g + 7471 * b + 32768) >> 16
  offset = (128 << 16) + 32767
  blue = (-11059 * r - 21709 * g + 32768 * b + offset) >> 16
  red = (32768 * r - 27439 * g - 5329 * b + offset) >> 16
  return luma, blue, red


def _to_rgb(luma: jax.Array, blue: jax.Array, red: jax.Array) -> jax.Array:
  """Packed words, as `packed.pack` makes them."""
  blue, red = blue - 128, red - 128
  levels = (
    luma + ((91881 * red + 32768) >> 16),
    luma + ((-22554 * blue - 46802 * red + 32768) >> 16),
    luma + ((116130 * blue + 32768) >> 16),
  )
  r, g, b = (jnp.clip(v, 0, 255).astype(jnp.uint32) for v in levels)
  return r | (g << 8) | (b << 16)


def _downsample(plane: jax.Array, rows: int | jax.Array) -> jax.Array:
  """2x2 means with libjpeg's alternating bias; below `rows` the last row."""
  pairs = plane[0::2] + plane[1::2]
  total = pairs[:, 0::2] + pairs[:, 1::2]
  bias = 1 + (jnp.arange(total.shape[1]) & 1)
  small = (total + bias) >> 2
  # libjpeg repeats the last downsampled row, but full-size columns.
  if isinstance(rows, int) and rows == small.shape[0]:
    return small
  last = jax.lax.dynamic_slice_in_dim(small, rows - 1, 1)
  return jnp.where(jnp.arange(small.shape[0])[:, None] < rows, small, last)


def _upsample(
  plane: jax.Array,
  half: tuple[int | jax.Array, int | jax.Array],
  always: jax.Array,
) -> jax.Array:
  """Twice the size by triangles: 9/16, 3/16, 3/16, 1/16 of the neighbours."""
  above, below = _neighbours(plane, half[0], 0)
  rows = jnp.stack([3 * plane + above, 3 * plane + below], axis=1)
  rows = keep.keep(rows.reshape(2 * plane.shape[0], plane.shape[1]), always)
  left, right = _neighbours(rows, half[1], 1)
  columns = jnp.stack(
    [(3 * rows + left + 8) >> 4, (3 * rows + right + 7) >> 4], axis=2
  )
  fancy = columns.reshape(rows.shape[0], -1)
  plain = jnp.repeat(jnp.repeat(plane, 2, axis=0), 2, axis=1)
  # libjpeg takes triangles only beyond two columns.
  return jnp.where(jnp.asarray(half[1]) > 2, fancy, plain)


def _neighbours(
  plane: jax.Array, valid: int | jax.Array, axis: int
) -> tuple[jax.Array, jax.Array]:
  """The sample before and the one after, edges repeated."""
  n = plane.shape[axis]
  last = jax.lax.dynamic_slice_in_dim(plane, valid - 1, 1, axis)
  first = jax.lax.slice_in_dim(plane, 0, 1, axis=axis)
  before = jnp.concatenate(
    [first, jax.lax.slice_in_dim(plane, 0, n - 1, axis=axis)], axis
  )
  after = jnp.concatenate(
    [jax.lax.slice_in_dim(plane, 1, n, axis=axis), last], axis
  )
  index = jnp.arange(n).reshape((n, 1) if axis == 0 else (1, n))
  return before, jnp.where(index == valid - 1, last, after)


def _blocks(plane: jax.Array) -> jax.Array:
  """`[H, W]` as `[8, 8, H / 8 * W / 8]`."""
  height, width = plane.shape
  cut = plane.reshape(height // 8, 8, width // 8, 8)
  return cut.transpose(1, 3, 0, 2).reshape(8, 8, -1)


def _grid(blocks: jax.Array, shape: tuple[int, ...]) -> jax.Array:
  """`_blocks` undone."""
  height, width = shape
  cut = blocks.reshape(8, 8, height // 8, width // 8)
  return cut.transpose(2, 0, 3, 1).reshape(height, width)


def _quantise(coefficients: jax.Array, table: jax.Array) -> jax.Array:
  """Rounds to multiples of the table, halves away from zero.

  The forward DCT's results carry a factor of 8. The quotient is taken in
  float32, exact here: both sides are whole numbers below 2**24 and half a unit
  keeps it clear of rounding.
  """
  step = table[..., None]
  size = jnp.abs(coefficients) + 4 * step
  quotient = jnp.floor((size.astype(jnp.float32) + 0.5) / (8 * step))
  whole = quotient.astype(jnp.int32) * step
  return jnp.where(coefficients < 0, -whole, whole)


def _descale(x: jax.Array, bits: int) -> jax.Array:
  return (x + (1 << (bits - 1))) >> bits


def _odd(
  a: jax.Array, b: jax.Array, c: jax.Array, d: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
  """The odd half that both transforms share, before the last additions."""
  z1, z2, z3, z4 = a + d, b + c, a + c, b + d
  z5 = (z3 + z4) * _F["1.175"]
  z1, z2 = z1 * -_F["0.899"], z2 * -_F["2.562"]
  z3, z4 = z3 * -_F["1.961"] + z5, z4 * -_F["0.390"] + z5
  return (
    a * _F["0.298"] + z1 + z3,
    b * _F["2.053"] + z2 + z4,
    c * _F["3.072"] + z2 + z3,
    d * _F["1.501"] + z1 + z4,
  )


def _forward(blocks: jax.Array) -> jax.Array:
  """Forward DCT of `[8 rows, 8 columns, N]`, results times 8."""

  def one(x: Sequence[jax.Array], bits: int, first: bool) -> list[jax.Array]:
    sums = [x[i] + x[7 - i] for i in range(4)]
    tmp7, tmp6, tmp5, tmp4 = (x[i] - x[7 - i] for i in range(4))
    tmp10, tmp13 = sums[0] + sums[3], sums[0] - sums[3]
    tmp11, tmp12 = sums[1] + sums[2], sums[1] - sums[2]
    z1 = (tmp12 + tmp13) * _F["0.541"]
    o7, o5, o3, o1 = _odd(tmp4, tmp5, tmp6, tmp7)
    if first:
      o0, o4 = (tmp10 + tmp11) << _PASS1, (tmp10 - tmp11) << _PASS1
    else:
      o0 = _descale(tmp10 + tmp11, _PASS1)
      o4 = _descale(tmp10 - tmp11, _PASS1)
    o2 = _descale(z1 + tmp13 * _F["0.765"], bits)
    o6 = _descale(z1 - tmp12 * _F["1.847"], bits)
    o1, o3, o5, o7 = (_descale(o, bits) for o in (o1, o3, o5, o7))
    return [o0, o1, o2, o3, o4, o5, o6, o7]

  first = one([blocks[:, i] for i in range(8)], _BITS - _PASS1, True)
  rows = jnp.stack(first, axis=1)
  columns = one([rows[i] for i in range(8)], _BITS + _PASS1, False)
  return jnp.stack(columns)


def _inverse(blocks: jax.Array) -> jax.Array:
  """Inverse DCT of `[8 rows, 8 columns, N]`, before the level shift."""

  def one(x: Sequence[jax.Array], bits: int) -> list[jax.Array]:
    z1 = (x[2] + x[6]) * _F["0.541"]
    tmp2 = z1 - x[6] * _F["1.847"]
    tmp3 = z1 + x[2] * _F["0.765"]
    tmp0, tmp1 = (x[0] + x[4]) << _BITS, (x[0] - x[4]) << _BITS
    even = (tmp0 + tmp3, tmp1 + tmp2, tmp1 - tmp2, tmp0 - tmp3)
    odd = _odd(x[7], x[5], x[3], x[1])[::-1]
    low = [_descale(e + o, bits) for e, o in zip(even, odd)]
    high = [_descale(e - o, bits) for e, o in zip(even, odd)]
    return low + high[::-1]

  first = one([blocks[i] for i in range(8)], _BITS - _PASS1)
  columns = jnp.stack(first)
  rows = one([columns[:, i] for i in range(8)], _BITS + _PASS1 + 3)
  return jnp.stack(rows, axis=1)
