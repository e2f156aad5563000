"""A JPEG save and load as integer array code, bit for bit like libjpeg.

Colour conversion, 4:2:0 chroma, libjpeg's `islow` transforms (`dct.py`), Annex-K
quantisation and "fancy" (triangle) chroma upsampling; entropy coding is lossless
and left out. Facts: the JPEG standard (ITU-T T.81, Annex K) for the tables;
libjpeg's documented fixed-point arithmetic for the rest. Pillow is the oracle of
the tests.

A picture is cut into units of 16x16 px, JPEG's own at 4:2:0. Every array here has,
for each place in a unit (or in a block of 8x8), one long row over all N units, so
that whatever lies side by side in the picture, rows or columns, is added as long
vectors. Two transpositions of bytes lead there and back; between them values are
bytes or int16. Stages are stored (`keep.stored`): fusions that recompute them take
many times as long.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.corruptions import batching
from robust_tfds.corruptions.ops import dct, keep, layout

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
_SIDE = 16  # px of a 4:2:0 unit
_LUMA_BLOCKS, _BLOCKS = (
  4,
  6,
)  # blocks of a unit: luma left, left, right, right; blue, red
Side = int | jax.Array
Stored = Callable[..., jax.Array]


class _Units(NamedTuple):
  """The number of 16x16 px units of a canvas."""

  down: int
  across: int


def tables(qualities: Sequence[int]) -> np.ndarray:
  """Return quantisation tables, luma and chroma: int32 `[N, 2, 8, 8]`.

  Raises:
    ValueError: a quality is outside 1..100.
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
  """Return the picture after a JPEG save and load.

  Args:
    image: uint8 `[H, W, 3]`, the picture in the top-left corner.
    size: valid (height, width), Python ints or traced.
    table: int32 `[2, 8, 8]`, one row of `tables`; traced (`keep.hidden`).

  Returns:
    uint8 `[H, W * 3]`, undefined outside the picture.
  """
  height, width = image.shape[:2]
  units = _Units(-(-height // _SIDE), -(-width // _SIDE))
  half = (size[0] + 1) // 2, (size[1] + 1) // 2
  partial = tuple(not _is_whole(v, n) for v, n in zip(size, units))
  always = jnp.asarray(table)[0, 0, 0]

  def stored(function: Stored, *arrays: jax.Array) -> jax.Array:
    return keep.stored(function, always, *arrays)

  pixels = _unit_pixels(image, size, units, stored)
  blocks = stored(_to_blocks, pixels)
  if partial[0]:
    # libjpeg repeats the last downsampled row, but full-size columns.
    chroma = _repeated(stored(_chroma, blocks), half[0], 1, units, stored)
    blocks = stored(_replace_chroma, blocks, chroma)
  blocks = stored(functools.partial(dct.forward, axis=0), blocks)
  blocks = stored(functools.partial(dct.forward, axis=1), blocks)
  blocks = stored(_quantised, blocks, *_steps(table))
  blocks = stored(functools.partial(dct.inverse, axis=0), blocks)
  samples = stored(_samples, blocks)
  chroma = stored(_chroma, samples)
  for axis, valid in ((1, half[0]), (0, half[1])):
    if partial[1 - axis]:
      chroma = _repeated(chroma, valid, axis, units, stored)
  fancy = half[1] > 2
  wide = _upsampled(chroma, fancy, units, stored)
  pixels = stored(functools.partial(_to_rgb, fancy=fancy), wide, samples)
  pixels = stored(lambda x: x.reshape(3 * _SIDE, -1).T, pixels)

  def to_rows(pixels: jax.Array) -> jax.Array:
    rows = pixels.reshape(_SIDE, units.down, -1).transpose(1, 0, 2)
    return rows.reshape(_SIDE * units.down, -1)[:height, : 3 * width]

  return stored(to_rows, pixels)


@functools.partial(jax.jit, static_argnums=1)
def roundtrip_batch(images: jax.Array, quality: int) -> jax.Array:
  """Apply `roundtrip` to whole pictures: uint8 `[..., H, W, 3]` to the same shape."""
  pictures = images.reshape(-1, *images.shape[-3:])
  size = layout.valid_size(pictures.shape[1:], None)
  table = keep.hidden(tables([quality])[0], pictures)
  flat = batching.over_batch(lambda x: roundtrip(x, size, table), pictures)
  return flat.reshape(images.shape)


def _is_whole(valid: Side, units: int) -> bool:
  """Return whether a side is known to fill its units."""
  return isinstance(valid, int) and valid == _SIDE * units


def _unit_pixels(
  image: jax.Array, size: layout.Size, units: _Units, stored: Stored
) -> jax.Array:
  """Return uint8 `[16 columns * 3, 16 rows * N]`; edges are repeated to whole units."""
  height, width = image.shape[:2]

  def group_rows(image: jax.Array) -> jax.Array:
    rows = image.reshape(height, 3 * width)
    if _is_whole(size[0], units.down):
      rows = rows.reshape(units.down, _SIDE, -1).transpose(1, 0, 2)
    else:
      index = np.arange(_SIDE * units.down).reshape(units.down, _SIDE).T
      inside = jnp.minimum(index, size[0] - 1)
      rows = rows.at[inside].get(mode="promise_in_bounds")
    missing = 3 * (_SIDE * units.across - width)
    return jnp.pad(rows, ((0, 0), (0, 0), (0, missing))) if missing else rows

  rows = stored(group_rows, image)
  pixels = stored(lambda x: x.reshape(-1, 3 * _SIDE).T, rows)
  if _is_whole(size[1], units.across):
    return pixels
  pixels = stored(lambda x: x.reshape(_SIDE, 3, _SIDE, -1), pixels)
  return _repeated(pixels, size[1], 0, units, stored)


def _repeated(
  values: jax.Array, valid: Side, axis: int, units: _Units, stored: Stored
) -> jax.Array:
  """Repeat the last valid row or column to the end of the canvas.

  Args:
    values: `[places, ..., N]`, or with the places of the axis second.
    valid: number of valid places.
    axis: 0 for columns, 1 for rows.
    units: numbers of units.

    stored: see `keep.stored`.
  """
  places = values.shape[axis]
  grid = (*values.shape[:-1], *units)
  among_units = -1 - axis

  def edge(values: jax.Array) -> jax.Array:
    line = values.reshape(grid)
    for i, where in (
      (axis, (valid - 1) % places),
      (among_units, (valid - 1) // places),
    ):
      line = jax.lax.dynamic_slice_in_dim(line, where, 1, i)
    return jnp.broadcast_to(line, (*line.shape[:-2], *units))

  index = np.arange(places * units[among_units]).reshape(-1, places).T
  index = index[:, None] if axis == 0 else index[..., None]
  index = np.broadcast_to(index, (places, *units)).reshape(places, -1)
  shape = [1] * values.ndim
  shape[axis], shape[-1] = index.shape

  def chosen(
    values: jax.Array, edge: jax.Array, inside: jax.Array
  ) -> jax.Array:
    return jnp.where(inside.reshape(shape), values, edge)

  inside = stored(lambda index: index < valid, jnp.asarray(index))
  last = stored(edge, values)
  last = last.reshape(*last.shape[:-2], -1)
  return stored(chosen, values, last, inside)


def _chroma(blocks: jax.Array) -> jax.Array:
  return blocks[:, :, _LUMA_BLOCKS:]


def _replace_chroma(blocks: jax.Array, chroma: jax.Array) -> jax.Array:
  return jnp.concatenate([blocks[:, :, :_LUMA_BLOCKS], chroma], axis=2)


def _high(x: jax.Array, weight: int) -> jax.Array:
  """Compute x * weight / 2**16, rounded down: int16, one instruction."""
  return ((x.astype(jnp.int32) * weight) >> 16).astype(jnp.int16)


def _to_blocks(pixels: jax.Array) -> jax.Array:
  """Compute luma and halved chroma around 0: int16 `[8 columns, 8 rows, 6, N]`.

  libjpeg's 16-bit weights are written for differences of channels: those of a
  row sum to 0 (chroma) or to 2**16 (luma). Chroma's contain a 2**15, which
  leaves half of a sum whose other term fits `_high`; rounding goes upwards.
  """
  # Reshaped here, so that the transposition before has two dimensions.
  pixels = pixels.reshape(_SIDE, 3, _SIDE, -1)
  red, green, blue = (pixels[:, i].astype(jnp.int16) for i in range(3))
  luma = []
  for left in (0, 8):
    for top in (0, 8):
      r, g, b = (v[left : left + 8, top : top + 8] for v in (red, green, blue))
      shares = 19595 * (r - g).astype(jnp.int32)
      shares += 7471 * (b - g).astype(jnp.int32) + (1 << 15)
      luma.append(g + (shares >> 16).astype(jnp.int16) - 128)
  # Means of 2x2 with libjpeg's alternating bias.
  sums = [1 + (jnp.arange(8, dtype=jnp.int16) & 1)[:, None, None]] * 2
  for column in (0, 1):
    for row in (0, 1):
      r, g, b = (v[column::2, row::2] for v in (red, green, blue))
      sums[0] += (b - g - _high(g - r, -2 * 11059)) >> 1
      sums[1] += (r - g - _high(b - g, 2 * 5329)) >> 1
  return jnp.stack([*luma, sums[0] >> 2, sums[1] >> 2], axis=2)


def _steps(table: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
  """Return the arguments of `_quantised`, each `[8, 8, 6, 1]`."""
  chroma = _BLOCKS - _LUMA_BLOCKS
  step = jnp.stack([table[0]] * _LUMA_BLOCKS + [table[1]] * chroma, axis=-1)
  inverse = 1 / (8 * step[..., None].astype(jnp.float32))
  return step[..., None], inverse, 0.5 + 0.5 * inverse


def _quantised(
  blocks: jax.Array, step: jax.Array, inverse: jax.Array, half: jax.Array
) -> jax.Array:
  """Round to multiples of the step, halves away from zero: int16.

  The forward transform's results carry a factor of 8. A product in float32 is
  exact here: half a unit of the numerator, below 2**14, keeps the quotient
  further from a whole number than it can be wrong.
  """
  value = blocks.astype(jnp.float32)
  away = jnp.where(value < 0, -half, half)
  return ((value * inverse + away).astype(jnp.int32) * step).astype(jnp.int16)


def _samples(blocks: jax.Array) -> jax.Array:
  """Compute the inverse transform's last pass, in levels: uint8."""
  return jnp.clip(dct.inverse(blocks, axis=1) + 128, 0, 255).astype(jnp.uint8)


def _upsampled(
  chroma: jax.Array, fancy: bool | jax.Array, units: _Units, stored: Stored
) -> jax.Array:
  """Upsample chroma to twice the height; `_to_rgb` adds the columns.

  It uses triangles: 9/16, 3/16, 3/16, 1/16 of the neighbours.

  Args:
    chroma: uint8 `[8, 8, 2, N]`.
    fancy: see `_near`.
    units: numbers of units.

    stored: see `keep.stored`.

  Returns:
    int16 `[10, 16, 2, N]`, four times the levels; the first and the last are
    neighbours of the eight columns.
  """

  def rows(tall: jax.Array) -> jax.Array:
    tall = tall.astype(jnp.int16)
    own = tall[:, 1:9]
    above, below = _near(fancy, own, tall[:, :8], tall[:, 2:])
    return jnp.stack([3 * own + above, 3 * own + below], axis=2)

  def extended(values: jax.Array, axis: int) -> jax.Array:
    grid = values.reshape(*values.shape[:-1], *units)
    more = stored(functools.partial(_pad_neighbours, axis=axis), grid)
    return more.reshape(*more.shape[:-2], -1)

  high = stored(rows, extended(chroma, 1))
  return extended(high.reshape(8, _SIDE, 2, -1), 0)


def _near(
  fancy: bool | jax.Array, own: jax.Array, *sides: jax.Array
) -> tuple[jax.Array, ...]:
  """Return the neighbours on both sides; the sample itself where `fancy` is false.

  libjpeg takes triangles only beyond two columns, and repeats samples otherwise.
  """
  if fancy is True:
    return sides
  return tuple(jnp.where(fancy, side, own) for side in sides)


def _pad_neighbours(grid: jax.Array, axis: int) -> jax.Array:
  """Add one place on either side, from the neighbouring units; edges are repeated.

  Args:
    grid: `[places, ..., units down, units across]`, or with the places of the
      axis second.
    axis: 0 for columns, 1 for rows.
  """
  among_units = grid.ndim - 1 - axis
  cut = functools.partial(jax.lax.slice_in_dim, axis=among_units)
  first = jax.lax.slice_in_dim(grid, 0, 1, axis=axis)
  last = jax.lax.slice_in_dim(grid, -1, None, axis=axis)
  before = jnp.concatenate([cut(first, 0, 1), cut(last, 0, -1)], among_units)
  after = jnp.concatenate(
    [cut(first, 1, None), cut(last, -1, None)], among_units
  )
  return jnp.concatenate([before, grid, after], axis)


def _to_rgb(
  wide: jax.Array, samples: jax.Array, fancy: bool | jax.Array
) -> jax.Array:
  """Compute the levels of all pixels.

  Args:
    wide: result of `_upsampled`.
    samples: uint8 `[8 columns, 8 rows, 6, N]`.
    fancy: see `_near`.

  Returns:
    uint8 `[2, 4, 6, 2, 8, N]`: half, pair of columns; column of the pair and
    channel; half, row.
  """
  count = samples.shape[-1]
  pairs = samples.reshape(4, 2, 8, _BLOCKS, count)[..., :_LUMA_BLOCKS, :]
  luma = pairs.reshape(4, 2, 8, 2, 2, count).transpose(3, 0, 1, 4, 2, 5)
  sides = _near(fancy, wide[1:9], wide[:8], wide[2:])
  levels: list[jax.Array] = []
  for column, side in enumerate(sides):
    sums = (3 * wide[1:9] + side + 8 - column) >> 4
    blue, red = (sums[:, :, i].reshape(2, 4, 2, 8, count) - 128 for i in (0, 1))
    levels += _colours(luma[:, :, column].astype(jnp.int16), blue, red)
  levels = [jnp.clip(v, 0, 255).astype(jnp.uint8) for v in levels]
  return jnp.stack(levels, axis=2)


def _colours(
  luma: jax.Array, blue: jax.Array, red: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """Compute red, green and blue before clipping; all int16.

  libjpeg's weights are 91881, -22554, -46802 and 116130 in 16 bits, minus the
  multiple of 2**16 that leaves the smallest rest; a rest alone is doubled for
  `_high`, and rounded when halved.
  """
  shares = 18734 * red.astype(jnp.int32) - 22554 * blue.astype(jnp.int32)
  middle = ((shares + (1 << 15)) >> 16).astype(jnp.int16)
  return (
    luma + red + ((red + _high(red, -12846) + 1) >> 1),
    luma - red + middle,
    luma + 2 * blue + ((_high(blue, -29884) + 1) >> 1),
  )
