"""Pixelate: box-filtered down to a fraction of the size, and up again.

docs/evidence/specs/corruptions.md sections 1 and 3: Pillow's BOX down to (int(W c),
int(H c)), then back up with BOX (make_imagenet_c.py) or NEAREST
(imagecorruptions). Down, an output pixel is the mean of the whole source pixels
whose centres fall in its window, in Pillow's 22-bit fixed point, rounded to
bytes between the horizontal and the vertical pass. Which pixels fall in a
window is decided in float64 as Pillow decides it, rounding errors included:
they matter wherever a centre lies on a window's edge.

Every severity has its own branch: its gathers grow with its fraction and with
the pixels of its windows.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import keep, layout, packed

SEVERITIES = {  # fraction of the side that is kept
  "imagenet": (0.6, 0.5, 0.4, 0.3, 0.25),
  "inception": (0.5, 0.4, 0.3, 0.25, 0.2),
  "tiny_imagenet": (0.9, 0.8, 0.7, 0.6, 0.5),
  "cifar10": (0.95, 0.9, 0.85, 0.75, 0.65),
}
SEVERITIES["ccc"] = spec.quarters(1, SEVERITIES["imagenet"])
# The first pixel and the number of pixels of every small position.
Window = tuple[jax.Array, jax.Array]
Maps = tuple[Window, jax.Array]
_PARTS = 400  # every fraction is a multiple of 1/80 or 1/100
_BITS = 22  # Resample.c: PRECISION_BITS of 8-bit images


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `share`: (400ths of the side, 400), int32 `[5, 2]`: exact until divided.

  XLA would turn a constant 400 into a product with 0.0025, which rounds
  differently.
  """
  parts = np.round(np.array(edition.row(SEVERITIES)) * _PARTS)
  return {"share": np.stack([parts, 0 * parts + _PARTS], 1).astype(np.int32)}


def prepare(
  table: plugins.Table, shape: tuple[int, int], edition: spec.Edition
) -> plugins.Table:
  """Add the maps of pictures that fill their canvas, once per batch."""
  return {**table, "maps": [_axis(n, n, table, edition) for n in shape]}


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  size, table = scene.size, scene.table
  maps = table["maps"]
  if not isinstance(size.h, int):
    maps = [
      _axis(n, m, table, scene.edition) for n, m in zip(size, scene.image.shape)
    ]
  branches = [
    functools.partial(_pixelated, size=size, fraction=fraction)
    for fraction in scene.edition.row(SEVERITIES)
  ]
  severity = table["severity"]
  return jax.lax.switch(severity - 1, branches, scene.image, maps, severity)


def _pixelated(
  image: jax.Array,
  maps: list[Maps],
  severity: jax.Array,
  size: layout.Size,
  fraction: float,
) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`; `severity` is that of `fraction`."""

  def shrunk(words: jax.Array, axis: int) -> jax.Array:
    small = _small(image.shape[axis], fraction)
    first, count = (v[:small] for v in maps[axis][0])
    most = _most(size[axis], image.shape[axis], fraction)
    shrink = functools.partial(_shrink, most=most, axis=axis)
    return keep.stored(shrink, severity, words, first, count)

  words = keep.stored(packed.pack, severity, image)
  words = shrunk(shrunk(words, axis=1), axis=0)
  words = keep.stored(packed.columns, severity, words, maps[1][1])
  rows = keep.stored(packed.bytes_of, severity, words)
  return packed.rows(rows, maps[0][1])


def _small(canvas: int, fraction: float) -> int:
  """Return the small side of a canvas."""
  return max(1, int(canvas * fraction))


def _most(valid: int | jax.Array, canvas: int, fraction: float) -> int:
  """Return a bound on the pixels of a window, for all sizes that `valid` may have.

  A window is as long as the ratio of the sides. A centre on either edge counts
  once, rounding aside.
  """
  sides = [valid] if isinstance(valid, int) else range(1, canvas + 1)
  return max(side // _small(side, fraction) for side in sides) + 1


def _shrink(
  words: jax.Array, first: jax.Array, count: jax.Array, most: int, axis: int
) -> jax.Array:
  """Compute means of `count` pixels from `first` on, rounded as in Pillow.

  One gather of packed words serves three channels; red and blue are summed
  together.
  """
  last = words.shape[axis] - 1
  along = (slice(None), None) if axis == 0 else (None, slice(None))
  weights = np.floor(0.5 + (1 << _BITS) / np.arange(1, most + 1))
  weight = jnp.asarray(weights, jnp.uint32)[jnp.maximum(count, 1) - 1][along]
  take = packed.rows if axis == 0 else packed.columns
  red_and_blue = green = jnp.uint32(0)
  for pixel in range(most):
    values = take(words, jnp.minimum(first + pixel, last))
    values = jnp.where((pixel < count)[along], values, jnp.uint32(0))
    red_and_blue += values & 0xFF00FF
    green += (values >> 8) & 0xFF
  totals = red_and_blue & 0xFFFF, green, red_and_blue >> 16
  red, green, blue = (
    (t * weight + (1 << (_BITS - 1))) >> _BITS for t in totals
  )
  return red | (green << 8) | (blue << 16)


def _axis(
  valid: int | jax.Array,
  canvas: int,
  table: plugins.Table,
  edition: spec.Edition,
) -> Maps:
  """Return `_maps` of one axis in an edition."""
  fractions = edition.row(SEVERITIES)
  return _maps(valid, canvas, table["share"], fractions, edition.michaelis)


def _maps(
  valid: int | jax.Array,
  canvas: int,
  share: jax.Array,
  fractions: tuple[float, ...],
  accumulate: bool,
) -> Maps:
  """Return how one axis shrinks and grows again.

  Returns:
    ((first, count), up): the window of every small position, and the small
    position for each large one.
  """
  small = _small(canvas, max(fractions))
  most = max(_most(valid, canvas, fraction) for fraction in fractions)
  with jax.enable_x64(True):
    length = jnp.asarray(valid).astype(jnp.float64)
    parts, whole = share.astype(jnp.float64)
    target = jnp.maximum(jnp.floor(length * (parts / whole)), 1.0)
    first, count = _windows(length, target, small, most)
    if accumulate:
      up = _accumulated(target / length, canvas)
    else:
      up, _ = _windows(target, length, canvas, 2)
    up = jnp.minimum(up, target.astype(jnp.int32) - 1)
  return (first, count), up


def _windows(
  source: jax.Array, target: jax.Array, canvas: int, most: int
) -> tuple[jax.Array, jax.Array]:
  """Compute first pixel and count as Resample.c, precompute_coeffs with the BOX
  filter.
  """
  scale = source / target
  widened = jnp.maximum(scale, 1.0)
  support = 0.5 * widened
  centre = _rounded((jnp.arange(canvas, dtype=jnp.float64) + 0.5) * scale)
  start = jnp.maximum((centre - support + 0.5).astype(jnp.int32), 0)
  end = (centre + support + 0.5).astype(jnp.int32)
  end = jnp.minimum(end, source.astype(jnp.int32))
  tap = jnp.arange(most + 1, dtype=jnp.int32)[:, None]
  pixel = start + tap
  place = (pixel.astype(jnp.float64) - centre + 0.5) * (1.0 / widened)
  inside = (pixel < end) & (place > -0.5) & (place <= 0.5)
  skipped = jnp.where(inside, tap, most + 1).min(axis=0)
  return start + skipped, inside.sum(axis=0, dtype=jnp.int32)


def _rounded(product: jax.Array) -> jax.Array:
  """Keep a product from being fused into a multiply-add: C rounds it first."""
  return jnp.maximum(product, 0.0)


def _accumulated(step: jax.Array, canvas: int) -> jax.Array:
  """Accumulate step / 2 plus step for every pixel, as Geometry.c,
  ImagingScaleAffine.
  """

  def add(coordinate: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
    return coordinate + step, coordinate.astype(jnp.int32)

  _, index = jax.lax.scan(add, step * 0.5, length=canvas, unroll=16)
  return index


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  prepare=prepare,
  apply=apply,
)
