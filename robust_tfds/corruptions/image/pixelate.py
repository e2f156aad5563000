"""Pixelate: box-filtered down to a fraction of the size, and up again.

docs/specs/corruptions.md sections 1 and 3: Pillow's BOX down to (int(W c),
int(H c)), then back up with BOX (make_imagenet_c.py) or NEAREST
(imagecorruptions). Down, an output pixel is the mean of the whole source pixels
whose centres fall in its window, in Pillow's 22-bit fixed point, rounded to
bytes between the horizontal and the vertical pass. Which pixels fall in a
window is decided in float64 as Pillow decides it, rounding errors included:
they matter wherever a centre lies on a window's edge.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins
from robust_tfds.corruptions import spec
from robust_tfds.corruptions.ops import layout
from robust_tfds.corruptions.ops import packed

SEVERITIES = {  # fraction of the side that is kept
  "imagenet": (0.6, 0.5, 0.4, 0.3, 0.25),
  "inception": (0.5, 0.4, 0.3, 0.25, 0.2),
  "tiny_imagenet": (0.9, 0.8, 0.7, 0.6, 0.5),
  "cifar10": (0.95, 0.9, 0.85, 0.75, 0.65),
}
# The first pixel and the number of pixels of every small position, and the most.
Window = tuple[jax.Array, jax.Array, int]
_BITS = 22  # Resample.c: PRECISION_BITS of 8-bit images


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """`share`: (percent of the side, 100), int32 `[5, 2]`: exact until divided.

  A constant 100 XLA would turn into a product with 0.01, which rounds otherwise.
  """
  percent = np.round(np.array(edition.row(SEVERITIES)) * 100)
  return {"share": np.stack([percent, 0 * percent + 100], 1).astype(np.int32)}


def prepare(
  table: plugins.Table, shape: tuple[int, int], edition: spec.Edition
) -> plugins.Table:
  """Adds the maps of pictures that fill their canvas, once a batch."""
  return {**table, "maps": [_axis(n, n, table, edition) for n in shape]}


def apply(
  image: jax.Array,
  draws: None,
  size: layout.Size,
  table: plugins.Table,
  edition: spec.Edition,
) -> jax.Array:
  """Levels, uint8 `[H, W * 3]`."""
  del draws
  maps = table["maps"]
  if not isinstance(size.h, int):
    maps = [_axis(n, m, table, edition) for n, m in zip(size, image.shape)]
  (down_y, up_y), (down_x, up_x) = maps
  words = packed.pack(image)
  small = _shrink(words, down_x, axis=1)
  small = _shrink(small, down_y, axis=0)
  large = packed.rows(packed.columns(small, up_x), up_y)
  return packed.bytes_of(large)


def _shrink(words: jax.Array, window: Window, axis: int) -> jax.Array:
  """Means of `count` pixels from `first` on, rounded as Pillow rounds them.

  One gather of packed words serves three channels.
  """
  first, count, taps = window
  last = words.shape[axis] - 1
  along = (slice(None), None) if axis == 0 else (None, slice(None))
  weights = np.floor(0.5 + (1 << _BITS) / np.arange(1, taps + 1))
  weight = jnp.asarray(weights, jnp.int32)[jnp.maximum(count, 1) - 1][along]
  take = packed.rows if axis == 0 else packed.columns
  totals = [jnp.int32(0)] * 3
  for tap in range(taps):
    pixels = take(words, jnp.minimum(first + tap, last))
    used = (tap < count)[along]
    parts = [jnp.where(used, c, 0) for c in packed.channels(pixels)]
    totals = [t + c for t, c in zip(totals, parts, strict=True)]
  means = [(t * weight + (1 << (_BITS - 1))) >> _BITS for t in totals]
  red, green, blue = (m.astype(jnp.uint32) for m in means)
  return red | (green << 8) | (blue << 16)


def _axis(
  valid: int | jax.Array,
  canvas: int,
  table: plugins.Table,
  edition: spec.Edition,
) -> tuple[Window, jax.Array]:
  """`_maps` of one axis in an edition."""
  fractions = edition.row(SEVERITIES)
  return _maps(valid, canvas, table["share"], fractions, edition.michaelis)


def _maps(
  valid: int | jax.Array,
  canvas: int,
  share: jax.Array,
  fractions: tuple[float, ...],
  accumulate: bool,
) -> tuple[Window, jax.Array]:
  """How one axis shrinks and grows again.

  Returns:
    ((first, count, taps), up): the window of every small position, the largest
    possible count, and the small position that each large one shows.
  """
  small = max(1, int(canvas * max(fractions)))
  taps = int(1 / min(fractions)) + 2
  with jax.enable_x64(True):
    length = jnp.asarray(valid).astype(jnp.float64)
    percent, hundred = share.astype(jnp.float64)
    target = jnp.maximum(jnp.floor(length * (percent / hundred)), 1.0)
    first, count = _windows(length, target, small, taps)
    if accumulate:
      up = _accumulated(target / length, canvas)
    else:
      up, _ = _windows(target, length, canvas, 2)
    up = jnp.minimum(up, target.astype(jnp.int32) - 1)
  return (first, count, taps), up


def _windows(
  source: jax.Array, target: jax.Array, canvas: int, taps: int
) -> tuple[jax.Array, jax.Array]:
  """Resample.c, precompute_coeffs with the BOX filter: first pixel and count."""
  scale = source / target
  widened = jnp.maximum(scale, 1.0)
  support = 0.5 * widened
  centre = _rounded((jnp.arange(canvas, dtype=jnp.float64) + 0.5) * scale)
  start = jnp.maximum((centre - support + 0.5).astype(jnp.int32), 0)
  end = (centre + support + 0.5).astype(jnp.int32)
  end = jnp.minimum(end, source.astype(jnp.int32))
  tap = jnp.arange(taps + 1, dtype=jnp.int32)[:, None]
  pixel = start + tap
  place = (pixel.astype(jnp.float64) - centre + 0.5) * (1.0 / widened)
  inside = (pixel < end) & (place > -0.5) & (place <= 0.5)
  skipped = jnp.where(inside, tap, taps + 1).min(axis=0)
  return start + skipped, inside.sum(axis=0, dtype=jnp.int32)


def _rounded(product: jax.Array) -> jax.Array:
  """Keeps a product from being fused into a multiply-add: C rounds it first."""
  return jnp.maximum(product, 0.0)


def _accumulated(step: jax.Array, canvas: int) -> jax.Array:
  """Geometry.c, ImagingScaleAffine: step / 2 plus step for every pixel."""

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
