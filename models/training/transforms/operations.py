"""The operations of AugMix and PixMix on one picture, as Pillow computes them.

docs/evidence/specs/training.md section 5: strength u ~ U(.1, s); autocontrast, equalize;
posterize to 4 - int(.4 u) bits; rotate by int(3 u) degrees; solarize at 256 -
int(25.6 u); shear by .03 u; translate by int(u side / 30) px, x by the width
and y by the height [U, pictures of the papers are square]; black fill. Four
more overlap corruptions of the benchmark: color, contrast, brightness and
sharpness, factor .18 u + .1. Levels are bytes after each.

A picture is packed words (`corruptions/ops/packed.py`), strengths and weights
are whole numbers, places of a warp Pillow's own float64: no order of sums, no
fused multiplication and no backend can change a level. An operation is a table
of levels or a warp, so that an accelerator, which computes all kinds for all
examples, computes only a few.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from models.training.transforms import draws
from robust_tfds.corruptions import seeding
from robust_tfds.corruptions.ops import double, layout, packed, rotation, warp

TABLES = ("autocontrast", "equalize", "posterize", "solarize")
WARPS = ("rotate", "shear_x", "shear_y", "translate_x", "translate_y")
OVERLAPPING = ("contrast", "brightness", "color", "sharpness")
# The conditions of ImageNet-C that they resemble, weaker; a sharpness below 1
# smooths [U].
OVERLAPPED = ("brightness", "contrast", "gaussian_blur", "saturate")
NAMES = (*TABLES, *WARPS, *OVERLAPPING)
UNIT = 4096  # strengths are multiples of 1 / UNIT
LARGEST = 10  # strength at which levels reach their greatest value
_ONE = 1 << 16
_FINE = 1 << 20  # unit of weights: 255 levels and a factor of 1.9 fit an int32
_SLACK = 128  # 1e-4 level: Pillow's float32 rounds whole sums to themselves
_DEGREES = 30  # at strength 10
# Pillow's grey: ITU-R BT.601 in 2**-16.
_LUMA = (19595, 38470, 7471)


class Drawn(NamedTuple):
  """The operations to apply, in arrays of one shape.

  Attributes:
    operation: int32, index of `NAMES`.
    strength: int32, u in parts of `UNIT`.
    negative: bool, the sign of rotations, shears and translations.
  """

  operation: jax.Array
  strength: jax.Array
  negative: jax.Array


def names(overlap: bool) -> tuple[str, ...]:
  """Return the names of the operations that are drawn from."""
  return NAMES if overlap else (*TABLES, *WARPS)


def words(overlap: bool) -> str:
  """Return the operations in words, for a disclosure.

  >>> words(False)
  '9 operations (without contrast, brightness, color, sharpness)'
  """
  left_out = "" if overlap else f" (without {', '.join(OVERLAPPING)})"
  return f"{len(names(overlap))} operations{left_out}"


def draw(
  key: jax.Array,
  shape: tuple[int, ...],
  *,
  severity: float,
  overlap: bool,
  stream: int,
) -> Drawn:
  """Draw operations with replacement, with their strengths and signs.

  Args:
    key: uint32 `[2]`.
    shape: shape of the arrays.
    severity: s, the largest strength.
    overlap: whether to include the four that overlap corruptions.
    stream: the first of three streams.
  """
  least = round(UNIT / 10)
  return Drawn(
    seeding.integers(key, shape, len(names(overlap)), stream),
    least
    + seeding.integers(key, shape, round(UNIT * severity) - least, stream + 1),
    draws.coin(key, shape, stream + 2),
  )


def apply(words: jax.Array, drawn: Drawn, *, overlap: bool) -> jax.Array:
  """Apply one operation to a picture.

  Args:
    words: packed picture, uint32 `[H, W]`.
    drawn: the operation, in scalars.
    overlap: as for `draw`.

  Returns:
    uint32 `[H, W]`.
  """
  kinds: list[Callable[..., jax.Array]] = [
    functools.partial(_apply_table, overlap=overlap),
    _apply_warp,
  ]
  kinds += [_color, _sharpness] if overlap else []
  # Index in `kinds` of each of `NAMES`.
  kind = [0] * len(TABLES) + [1] * len(WARPS) + [0, 0, 2, 3]
  which = jnp.asarray(kind)[drawn.operation]
  return jax.lax.switch(which, kinds, words, drawn)


def _apply_table(words: jax.Array, drawn: Drawn, *, overlap: bool) -> jax.Array:
  tables = [_autocontrast, _equalize, _posterize, _solarize]
  tables += [_contrast, _brightness] if overlap else []
  after = drawn.operation >= len(TABLES)
  which = drawn.operation - jnp.where(after, len(WARPS), 0)
  table = jax.lax.switch(which, tables, words, drawn.strength)
  levels = (
    table[c].at[level].get(mode="promise_in_bounds")
    for c, level in enumerate(packed.channels(words))
  )
  return packed.join(*levels)


def _autocontrast(words: jax.Array, strength: jax.Array) -> jax.Array:
  """Return the table of `ImageOps.autocontrast`, int32 `[3, 256]`."""
  scales = double.bits(np.append(0, 255 / np.arange(1, 256)))
  index = np.arange(256)
  tables = []
  for level in packed.channels(words):
    low, high = level.min(), level.max()
    with jax.enable_x64(True):
      # The fourth byte: 0, which the compiler cannot know.
      zero = (words[0, 0] >> 24).astype(jnp.int64)
      scale = double.value(jnp.asarray(scales)[high - low])
      product = double.rounded(jnp.asarray(index * scale), zero)
      offset = double.rounded(low.astype(jnp.float64) * scale, zero)
      spread = jnp.clip(product - offset, 0, 255).astype(jnp.int32)
    tables.append(jnp.where(high > low, spread, index.astype(np.int32)))
  return jnp.stack(tables)


def _equalize(words: jax.Array, strength: jax.Array) -> jax.Array:
  """Return the table of `ImageOps.equalize`, int32 `[3, 256]`."""
  index = jnp.arange(256, dtype=jnp.int32)
  tables = []
  for level in packed.channels(words):
    count = jnp.zeros(256, jnp.int32).at[level.reshape(-1)].add(1)
    last = count[level.max()]
    step = (level.size - last) // 255
    before = jnp.cumsum(count) - count
    spread = (step // 2 + before) // jnp.maximum(step, 1)
    tables.append(jnp.where(step > 0, jnp.minimum(spread, 255), index))
  return jnp.stack(tables)


def _posterize(words: jax.Array, strength: jax.Array) -> jax.Array:
  lost = 4 + 4 * strength // (LARGEST * UNIT)  # lost bits of 8
  index = jnp.arange(256, dtype=jnp.int32)
  return jnp.tile((index >> lost) << lost, (3, 1))


def _solarize(words: jax.Array, strength: jax.Array) -> jax.Array:
  threshold = 256 - 256 * strength // (LARGEST * UNIT)
  index = jnp.arange(256, dtype=jnp.int32)
  return jnp.tile(jnp.where(index < threshold, index, 255 - index), (3, 1))


def _contrast(words: jax.Array, strength: jax.Array) -> jax.Array:
  """Return the table that blends with the grey picture's mean, rounded half up."""
  total = _grey(words).astype(jnp.uint32).sum()
  mean = (2 * total + words.size) // (2 * words.size)
  return _towards(mean.astype(jnp.int32), strength)


def _brightness(words: jax.Array, strength: jax.Array) -> jax.Array:
  return _towards(jnp.int32(0), strength)


def _towards(level: jax.Array, strength: jax.Array) -> jax.Array:
  """Blend all levels with one level, int32 `[3, 256]`."""
  index = jnp.arange(256, dtype=jnp.int32)
  return jnp.tile(_blend(level, index, strength), (3, 1))


def _blend(
  degenerate: jax.Array, level: jax.Array, strength: jax.Array
) -> jax.Array:
  """Compute `Image.blend` at a factor, truncated and clipped."""
  # .18 u + .1 in parts of `_FINE`; strengths are below 2**16.
  factor = (4608 * strength + 10 * _FINE + 50) // 100
  mixed = degenerate * _FINE + factor * (level - degenerate)
  return jnp.clip((mixed + _SLACK) // _FINE, 0, 255)


def _grey(words: jax.Array) -> jax.Array:
  """Convert to grey as Pillow's `L` does, int32 `[H, W]`."""
  red, green, blue = (
    c * share for c, share in zip(packed.channels(words), _LUMA, strict=True)
  )
  return (red + green + blue + _ONE // 2) >> 16


def _color(words: jax.Array, drawn: Drawn) -> jax.Array:
  grey = _grey(words)
  channels = packed.channels(words)
  return packed.join(*(_blend(grey, c, drawn.strength) for c in channels))


def _sharpness(words: jax.Array, drawn: Drawn) -> jax.Array:
  """Blend with Pillow's SMOOTH, a 3 x 3 mean whose centre counts 5; edges stay."""
  height, width = words.shape
  inside = jnp.zeros((height, width), bool).at[1:-1, 1:-1].set(True)
  out = []
  for level in packed.channels(words):
    ring = jnp.pad(level, 1)
    rows = ring[:-2] + ring[1:-1] + ring[2:]
    total = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] + 4 * level
    smooth = jnp.where(inside, (2 * total + 13) // 26, level)
    out.append(_blend(smooth, level, drawn.strength))
  return packed.join(*out)


def _apply_warp(words: jax.Array, drawn: Drawn) -> jax.Array:
  height, width = words.shape
  matrix = _matrix((height, width), drawn)
  return warp.pillow_bilinear(words, matrix, layout.Size(height, width))


def _matrix(size: tuple[int, int], drawn: Drawn) -> jax.Array:
  """Return Pillow's matrix as bits, see `warp.pillow_bilinear`."""
  u = drawn.strength
  sign = jnp.where(drawn.negative, -1, 1)
  turns = rotation.matrices(np.arange(-_DEGREES, _DEGREES + 1), size)
  turn = jnp.asarray(double.bits(turns))[_DEGREES + sign * (3 * u // UNIT)]
  across, down = (
    sign * (u * side // (3 * LARGEST * UNIT)) for side in size[::-1]
  )
  with jax.enable_x64(True):
    slope = sign * (0.03 * (u.astype(jnp.float64) / UNIT))
    still = jnp.asarray([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    moved = [
      still.at[place].set(value)
      for place, value in ((1, slope), (3, slope), (2, across), (5, down))
    ]
    others = jax.lax.bitcast_convert_type(jnp.stack(moved), jnp.int32)
    matrices = jnp.concatenate([turn[None], others])
    return matrices[drawn.operation - len(TABLES)]
