"""Saturate: S of HSV times a factor plus a constant, clipped; H and V kept.

docs/evidence/specs/corruptions.md sections 1 and 3, skimage's rgb2hsv and hsv2rgb. In
exact arithmetic most results of severity 3 are integers, and the authors'
float64 code lands on either side of them (one level down for 11 % of the
values, up to 16 % of a picture), so this file rounds where they round.

The order of operations differs, though: the largest of a pixel's channels, V,
stays; the smallest becomes V (1 - S); the middle one is V - (V - its share of
the way up) whatever the hue's sector, which only decides how that share was
rounded. A grey pixel has hue 0 (red), so added saturation turns it reddish, as
in their code.
"""

import fractions
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import layout, packed

SEVERITIES = {  # (factor, added constant)
  "imagenet": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
  "tiny_imagenet": ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (30, 0.2)),
  "cifar10": ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
}
# 1 / 255 in two float64: the leading 24 bits, and the rest.
_PART = float(np.float32(1 / 255))
_REST = float(fractions.Fraction(1, 255) - fractions.Fraction(_PART))
_NEXT_TO_0 = 2.0**-100  # changes no other divisor


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return (factor, constant, 1) in `tenths`, int32 `[5, 3]`: exact until divided."""
  pairs = np.array(edition.row(SEVERITIES), np.float64) * 10
  tenths = np.round(np.pad(pairs, ((0, 0), (0, 1)), constant_values=10))
  return {"tenths": tenths.astype(np.int32)}


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  natural = scene.table["tenths"][0]
  pixel = packed.image_channels(scene.image, natural)
  largest = functools.reduce(jnp.maximum, pixel)
  smallest = functools.reduce(jnp.minimum, pixel)
  with jax.enable_x64(True):
    factor, added, one = scene.table["tenths"].astype(jnp.float64)
    low, middle = _moved(pixel, largest, smallest, factor / one, added / one)

  def level(channel: jax.Array, first: bool) -> jax.Array:
    lower = jnp.where(channel == smallest, low, middle)
    if first:  # red keeps its level in a grey pixel
      return jnp.where(channel == largest, largest, lower)
    upper = jnp.where(channel == largest, largest, middle)
    return jnp.where(channel == smallest, low, upper)

  levels = [level(channel, i == 0) for i, channel in enumerate(pixel)]
  return packed.bytes_of(packed.join(*levels), natural)


def _moved(
  pixel: Sequence[jax.Array],
  largest: jax.Array,
  smallest: jax.Array,
  factor: jax.Array,
  added: jax.Array,
) -> tuple[jax.Array, jax.Array]:
  """Return the new levels of the smallest and of the middle channel, int32."""
  value = _unit(largest)
  spread = value - _unit(smallest)
  saturation = _rounded(spread / (value + _NEXT_TO_0) * factor) + added
  saturation = jnp.where(saturation < 1.0, saturation, 1.0)
  share = _share(pixel, largest, spread)
  low = value * (1.0 - saturation) * 255.0
  middle = value * (1.0 - _rounded((1.0 - share) * saturation)) * 255.0
  # Both in one number: converting a float64 to an integer costs three tests.
  both = jnp.floor(low) + 256.0 * jnp.floor(middle)
  both = layout.truncate(both.astype(jnp.float32))
  return both & 0xFF, (both >> 8) & 0xFF


def _share(
  pixel: Sequence[jax.Array], largest: jax.Array, spread: jax.Array
) -> jax.Array:
  """Return how far the middle channel is above the smallest, relative to the
  largest, 0..1.

  It is the rest of the hue, counted in sixths, beyond the corner (red 0 or 6,
  green 2, blue 4) of the largest channel. If channels tie, the later assignment
  of the reference wins: blue last.
  """
  red, green, blue = pixel
  is_blue, is_green = blue == largest, green == largest
  before = jnp.where(is_blue, red, jnp.where(is_green, blue, green))
  after = jnp.where(is_blue, green, jnp.where(is_green, red, blue))
  corner = jnp.where(is_blue, 4, jnp.where(is_green, 2, 0)).astype(jnp.float64)
  aside = (_unit(before) - _unit(after)) / (spread + _NEXT_TO_0)
  sixths = corner + aside
  below = sixths < 0
  # XLA would multiply by the reciprocal of a plain 6.
  hue = sixths / jnp.where(sixths < 6.0, 6.0, sixths)
  sixths = _rounded((hue + jnp.where(below, 1.0, 0.0)) * 6.0)
  return jnp.abs(sixths - jnp.where(below, 6.0, corner))


def _unit(level: jax.Array) -> jax.Array:
  """Compute level / 255, correctly rounded: the first product is exact."""
  wide = level.astype(jnp.float64)
  return wide * _PART + wide * _REST


def _rounded(product: jax.Array) -> jax.Array:
  """Keep a product (0 or more) out of a fused multiply-add, which rounds once."""
  return jnp.abs(product)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  apply=apply,
)
