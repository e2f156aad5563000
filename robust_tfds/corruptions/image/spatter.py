"""Spatter: drops of water that refract light, or splashes of mud.

docs/evidence/specs/corruptions.md sections 1 and 3. Both start from a blurred normal
layer. Water lights up the drops' rims by their distance to Canny edges; mud
covers what lies above the threshold. Layers without drops leave the picture as
it is, where the reference divides 0 by 0.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import (
  border,
  canny,
  chamfer,
  equalize,
  keep,
  layout,
  packed,
  stencil,
  taps,
)

SEVERITIES = {
  # (mean, deviation, blur sigma, threshold, intensity or mud sigma, mud?)
  "imagenet": (
    (0.65, 0.3, 4, 0.69, 0.6, 0),
    (0.65, 0.3, 3, 0.68, 0.6, 0),
    (0.65, 0.3, 2, 0.68, 0.5, 0),
    (0.65, 0.3, 1, 0.65, 1.5, 1),
    (0.67, 0.4, 1, 0.65, 1.5, 1),
  ),
  "inception": (
    (0.65, 0.3, 4, 0.69, 0.9, 0),
    (0.65, 0.3, 3.5, 0.68, 0.9, 0),
    (0.65, 0.3, 3, 0.68, 0.8, 0),
    (0.65, 0.3, 1.2, 0.65, 1.8, 1),
    (0.67, 0.4, 1.2, 0.65, 1.8, 1),
  ),
  "tiny_imagenet": (
    (0.62, 0.1, 0.7, 0.7, 0.6, 0),
    (0.65, 0.1, 0.8, 0.7, 0.6, 0),
    (0.65, 0.3, 1, 0.69, 0.6, 0),
    (0.65, 0.1, 0.7, 0.68, 0.6, 1),
    (0.65, 0.1, 0.5, 0.67, 0.6, 1),
  ),
  "cifar10": (
    (0.62, 0.1, 0.7, 0.7, 0.5, 0),
    (0.65, 0.1, 0.8, 0.7, 0.5, 0),
    (0.65, 0.3, 1, 0.69, 0.5, 0),
    (0.65, 0.1, 0.7, 0.69, 0.6, 1),
    (0.65, 0.1, 0.5, 0.68, 0.6, 1),
  ),
}
_WATER = (175.0, 238.0, 238.0)  # pale turquoise
_MUD = (63.0, 42.0, 20.0)
_CAP = 20  # px; distances beyond it are all equal
_EMBOSS = {  # the reference's 3x3 kernel, by (row, column)
  (-1, -1): -2,
  (-1, 0): -1,
  (0, -1): -1,
  (0, 0): 1,
  (0, 1): 1,
  (1, 0): 1,
  (1, 1): 2,
}


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return the layer's numbers `[5]`, and `taps.half_kernels` of layer and mud."""
  row = np.array(edition.row(SEVERITIES), np.float64)
  mean, deviation, sigma, threshold, intensity, mud = row.T
  floats = {
    "mean": mean,
    "deviation": deviation,
    "threshold": threshold,
    "intensity": intensity,
  }
  splash = taps.half_kernels(intensity)
  return {
    **{k: v.astype(np.float32) for k, v in floats.items()},
    "mud": mud.astype(np.int32),
    **taps.half_kernels(sigma),
    "splash_half": splash["half"],
    "splash_turns": splash["turns"],
  }


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw standard normals, float32 `[H, W]`."""
  return seeding.normal(scene.key, scene.image.shape[:2])


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`; `draws` are standard normals `[H, W]`."""
  image, size, table = scene.image, scene.size, scene.table
  layer = table["mean"] + table["deviation"] * draws
  layer = keep.keep(layer, table["mud"])
  layer = _blur(layer, table["half"], table["turns"], size)

  def add_mud() -> jax.Array:
    splash = (layer > table["threshold"]).astype(jnp.int32)
    cover = _blur(splash, table["splash_half"], table["splash_turns"], size)
    cover = jnp.where(cover < 0.8, 0.0, cover)
    levels = (
      c.astype(jnp.float32) for c in packed.image_channels(image, table["mud"])
    )
    mixed = (v + cover * (c - v) for v, c in zip(levels, _MUD, strict=True))
    return packed.interleave(mixed, table["mud"])

  def add_water() -> jax.Array:
    drops = jnp.where(layer < table["threshold"], 0.0, layer)
    return water(image, drops, size, table["intensity"])

  return jax.lax.cond(table["mud"] == 1, add_mud, add_water)


def water(
  image: jax.Array,
  layer: jax.Array,
  size: layout.Size,
  intensity: jax.Array,
) -> jax.Array:
  """Compute the picture under drops.

  Args:
    image: uint8 `[H, W, 3]`.
    layer: float32 `[H, W]`, thickness of the water, 0 without water.
    size: valid (height, width).
    intensity: brightness of the brightest rim.

  Returns:
    uint8 `[H, W * 3]`.
  """
  inside = stencil.inside(layer.shape, size)
  thick = (layer * 255.0).astype(jnp.int32) & 0xFF  # wraps, as the reference
  thick = jnp.where(inside, thick, 0)
  edges = canny.edges(thick, size, intensity, low=50, high=150)
  rim = _rim(chamfer.distance(edges, _CAP), size, inside, intensity)
  shine = keep.keep(thick * rim, intensity)
  brightest = jnp.maximum(jnp.where(inside, shine, 0).max(), 1)
  scale = intensity / brightest.astype(jnp.float32)
  shine = shine.astype(jnp.float32) * scale
  levels = (
    c.astype(jnp.float32) for c in packed.image_channels(image, intensity)
  )
  lit = (v + c * shine for v, c in zip(levels, _WATER, strict=True))
  return packed.interleave(lit, intensity)


def _rim(
  distance: jax.Array,
  size: layout.Size,
  inside: jax.Array,
  natural: jax.Array,
) -> jax.Array:
  """Turn distances to edges into a relief: int32 0..255."""
  near = stencil.neighbours(distance, size, natural)
  mean = sum(near.values()) * np.float32(1 / (9 * chamfer.ONE))
  # Sums of 9 are whole numbers below 2**24; a whisker on top keeps multiples
  # of 9 from falling one level.
  coarse = jnp.floor(mean + np.float32(1e-6)).astype(jnp.int32)
  coarse = keep.keep(jnp.clip(coarse, 0, _CAP), natural)
  spread = keep.keep(equalize.equalize(coarse, inside, _CAP + 1), natural)
  near = stencil.neighbours(spread, size, natural)
  parts = (weight * near[at] for at, weight in _EMBOSS.items())
  relief = sum(parts, start=jnp.int32(0))
  near = stencil.neighbours(jnp.clip(relief, 0, 255), size, natural)
  total = sum(near.values(), start=jnp.int32(0))
  smooth = (2 * total + 9) // 18  # rounds: never a tie
  return keep.keep(smooth, natural)


def _blur(
  layer: jax.Array, half: jax.Array, turns: jax.Array, size: layout.Size
) -> jax.Array:
  edge = taps.margin(half)
  padded = border.pad(layer, size, (edge, edge))
  down = taps.blur(padded, half, turns, 0)
  return taps.blur(down, half, turns, 1)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
)
