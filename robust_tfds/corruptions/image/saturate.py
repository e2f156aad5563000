"""Saturate: S of HSV times a factor plus a constant, clipped; H and V kept.

docs/specs/corruptions.md sections 1 and 3, skimage's rgb2hsv and hsv2rgb. In
exact arithmetic most results of severity 3 are integers, and the authors'
float64 code lands on either side of them (one level down for 11 % of the
values, up to 16 % of a picture), so this file computes in float64 and in their
order. A grey pixel has hue 0 (red), so added saturation turns it reddish, as in
their code.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins
from robust_tfds.corruptions import spec
from robust_tfds.corruptions.ops import layout

SEVERITIES = {  # (factor, added constant)
  "imagenet": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
  "tiny_imagenet": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (30, 0.2)),
  "cifar10": ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
}


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """(factor, constant, 1) in `tenths`, int32 `[5, 3]`: exact until divided."""
  pairs = np.array(edition.row(SEVERITIES), np.float64) * 10
  tenths = np.round(np.pad(pairs, ((0, 0), (0, 1)), constant_values=10))
  return {"tenths": tenths.astype(np.int32)}


def apply(
  image: jax.Array,
  draws: None,
  size: layout.Size,
  table: plugins.Table,
  edition: spec.Edition,
) -> jax.Array:
  """Levels, uint8 `[H, W * 3]`."""
  del draws, size, edition
  channels = layout.planes(image)
  with jax.enable_x64(True):
    factor, added, one = table["tenths"].astype(jnp.float64)
    factor, added = factor / one, added / one
    rgb = _quotient(channels.astype(jnp.float64), 255.0)
    hue, saturation, value = _rgb_to_hsv(rgb)
    saturation = jnp.clip(_rounded(saturation * factor) + added, 0.0, 1.0)
    rgb = _hsv_to_rgb(hue, saturation, value)
    levels = (jnp.clip(rgb, 0.0, 1.0) * 255.0).astype(jnp.int32)
  return layout.interleave(levels)


def _rgb_to_hsv(rgb: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
  red, green, blue = rgb
  value = rgb.max(axis=0)
  spread = value - rgb.min(axis=0)
  grey = spread == 0
  divisor = jnp.where(grey, 1.0, spread)
  saturation = spread / jnp.where(value == 0, 1.0, value)
  # Where channels tie for the maximum the later assignment wins: blue last.
  hue = (green - blue) / divisor
  hue = jnp.where(green == value, 2.0 + (blue - red) / divisor, hue)
  hue = jnp.where(blue == value, 4.0 + (red - green) / divisor, hue)
  hue = _quotient(jnp.where(grey, 0.0, hue), 6.0)
  return jnp.where(hue < 0, hue + 1.0, hue), saturation, value


def _hsv_to_rgb(
  hue: jax.Array, saturation: jax.Array, value: jax.Array
) -> jax.Array:
  sixths = _rounded(hue * 6.0)
  sector = jnp.floor(sixths)
  within = sixths - sector
  low = value * (1.0 - saturation)
  falling = value * (1.0 - _rounded(within * saturation))
  rising = value * (1.0 - _rounded((1.0 - within) * saturation))
  pick = sector.astype(jnp.int32) % 6
  # Values of red by sector; green and blue are the same, two and four back.
  cycle = (value, falling, low, low, rising, value)

  def channel(back: int) -> jax.Array:
    chosen = cycle[-back % 6]
    for i in range(1, 6):
      chosen = jnp.where(pick == i, cycle[(i - back) % 6], chosen)
    return chosen

  return jnp.stack([channel(0), channel(2), channel(4)])


def _quotient(x: jax.Array, divisor: float) -> jax.Array:
  """x / divisor for x <= divisor; XLA would multiply by a scalar's reciprocal."""
  return x / jnp.maximum(x, divisor)


def _rounded(product: jax.Array) -> jax.Array:
  """Keeps a product (0 or more) out of a fused multiply-add, which rounds once."""
  return jnp.maximum(product, 0.0)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  apply=apply,
)
