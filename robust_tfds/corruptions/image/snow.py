"""Snow: a noise layer, stretched, thresholded and blown, over a paler picture.

docs/evidence/specs/corruptions.md sections 1 and 3. Hendrycks' code trims the stretched
layer to the picture, makes it 8-bit and blurs that with ImageMagick;
imagecorruptions blurs the untrimmed float layer, rounds it to 8 bits and takes
its top-left corner.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import (
  border,
  clipped_zoom,
  keep,
  layout,
  motion,
  packed,
)

SEVERITIES = {  # (mean, deviation, zoom, threshold, radius, sigma, mix)
  "imagenet": (
    (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
    (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
    (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
    (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
    (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
  ),
  "tiny_imagenet": (
    (0.1, 0.2, 1, 0.6, 8, 3, 0.8),
    (0.1, 0.2, 1, 0.5, 10, 4, 0.8),
    (0.15, 0.3, 1.75, 0.55, 10, 4, 0.7),
    (0.25, 0.3, 2.25, 0.6, 12, 6, 0.65),
    (0.3, 0.3, 1.25, 0.65, 14, 12, 0.6),
  ),
  "cifar10": (
    (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
    (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
    (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
    (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
    (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
  ),
}
SEVERITIES["ccc"] = spec.quarters(
  (0.1, 0.3, 3, 1, 10, 4, 1), SEVERITIES["imagenet"]
)
BITS = 16  # weights of the blur, which sees layers of up to 14 bits
_GREY = (19595, 38470, 7471)  # .299 .587 .114 of 65536, OpenCV's RGB2GRAY


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return the layer's numbers, float32 `[5]`, and `motion.kernels`."""
  row = np.array(edition.row(SEVERITIES), np.float64)
  mean, deviation, _, threshold, radius, sigma, mix = row.T
  floats = {
    "mean": mean,
    "deviation": deviation,
    "threshold": threshold,
    "pale": 1 - mix,
  }
  return {
    **{k: v.astype(np.float32) for k, v in floats.items()},
    **motion.kernels(radius, sigma, BITS),
  }


def assets(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `directions` int32 `[STEPS, 2]` for U(-135, -45) degrees: upwards."""
  return {"directions": motion.directions(-135, -45)}


def draw(scene: plugins.Scene) -> tuple[jax.Array, jax.Array]:
  """Draw standard normals of the layer's central part, and the direction of the blur.

  The zoom uses only the middle 1 / zoom of the layer, so only this part is
  drawn, float32 `[h, w]`, from its first used row and column on.
  """
  zooms = _zooms(scene.edition)
  shape = [clipped_zoom.longest(n, zooms)[0] for n in scene.image.shape[:2]]
  turn = seeding.integers(scene.key, (), motion.STEPS, stream=1)
  return seeding.normal(scene.key, shape), scene.table["directions"][turn]


def apply(
  scene: plugins.Scene, draws: tuple[jax.Array, jax.Array]
) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`; `draws` as from `draw`."""
  size, table = scene.size, scene.table
  normals, direction = draws
  layer = table["mean"] + table["deviation"] * normals
  layer = keep.keep(layer, table["severity"])
  shape = scene.image.shape[:2]
  at = table["severity"] - 1
  zooms = _zooms(scene.edition)
  lengths = [
    clipped_zoom.lengths(n, m, zooms).select(at)
    for n, m in zip(size, shape, strict=True)
  ]
  if scene.edition.michaelis:
    flakes = _float_flakes(layer, direction, lengths, shape, table, zooms)
  else:
    flakes = _byte_flakes(layer, direction, lengths, shape, size, table)
  return cover(scene.image, flakes, size, table["pale"])


def byte_layer(stretched: jax.Array, threshold: jax.Array) -> jax.Array:
  """Convert the thresholded layer to Hendrycks' 8-bit one, int32 0..255."""
  flakes = jnp.where(stretched < threshold, 0.0, jnp.clip(stretched, 0.0, 1.0))
  return (flakes * 255.0).astype(jnp.int32)


def blow(
  layer: jax.Array,
  direction: jax.Array,
  size: layout.Size,
  table: plugins.Table,
) -> jax.Array:
  """Apply ImageMagick's motion blur to an 8-bit layer `[H, W]`: int32 0..255."""
  edge = motion.margin(table["weights"])
  padded = border.pad(layer, size, (edge, edge))
  total = motion.blur(padded, table["weights"], table["turns"], direction)
  return (total + (1 << BITS) // 514) >> BITS  # see motion_blur


def cover(
  image: jax.Array, flakes: jax.Array, size: layout.Size, pale: jax.Array
) -> jax.Array:
  """Cover the paler picture with the flakes and with the flakes turned by 180 degrees.

  Args:
    image: uint8 `[H, W, 3]`.
    flakes: int32 `[H, W]`, levels.
    size: valid (height, width).
    pale: 1 - mix.

  Returns:
    uint8 `[H, W * 3]`.
  """
  both = (flakes + border.rotate180(flakes, size)).astype(jnp.float32)
  pixel = packed.image_channels(image, pale)
  parts = (c * w for c, w in zip(pixel, _GREY, strict=True))
  grey = sum(parts, start=jnp.int32(0))
  glow = grey.astype(jnp.float32) * np.float32(1.5 / 65536) + 127.5

  def paler(channel: jax.Array) -> jax.Array:
    level = channel.astype(jnp.float32)
    lighter = jnp.where(glow > level, glow - level, 0.0)
    return level + pale * lighter

  return packed.interleave((paler(c) + both for c in pixel), pale)


def _byte_flakes(
  layer: jax.Array,
  direction: jax.Array,
  lengths: list[clipped_zoom.Lengths],
  shape: tuple[int, ...],
  size: layout.Size,
  table: plugins.Table,
) -> jax.Array:
  rows, columns = [
    clipped_zoom.positions(n.from_first(), side, trim=(n.target - valid) // 2)
    for n, side, valid in zip(lengths, shape, size, strict=True)
  ]
  stretched = clipped_zoom.resample(layer, rows, columns)
  layer = byte_layer(stretched, table["threshold"])
  return blow(layer, direction, size, table)


def _float_flakes(
  layer: jax.Array,
  direction: jax.Array,
  lengths: list[clipped_zoom.Lengths],
  shape: tuple[int, ...],
  table: plugins.Table,
  zooms: list[float],
) -> jax.Array:
  """Blur like imagecorruptions: before the crop, in 14 bits, then round to 8."""
  counts = [clipped_zoom.longest(side, zooms)[1] for side in shape]
  rows, columns = [
    clipped_zoom.positions(n.from_first(), count)
    for n, count in zip(lengths, counts, strict=True)
  ]
  stretched = clipped_zoom.resample(layer, rows, columns)
  flakes = jnp.where(
    stretched < table["threshold"], 0.0, jnp.clip(stretched, 0.0, 1.0)
  )
  fine = jnp.round(flakes * (1 << 14)).astype(jnp.int32)
  whole = layout.Size(*(n.target for n in lengths))
  weights = motion.within(table["weights"], direction, whole)
  edge = motion.margin(weights)
  padded = border.pad(fine, whole, (edge, edge))
  total = motion.blur(padded, weights, table["turns"], direction)
  levels = total.astype(jnp.float32) * np.float32(255 / (1 << (14 + BITS)))
  return jnp.round(levels).astype(jnp.int32)[: shape[0], : shape[1]]


def _zooms(edition: spec.Edition) -> list[float]:
  return [row[2] for row in edition.row(SEVERITIES)]


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  assets=assets,
  draw=draw,
  apply=apply,
)
