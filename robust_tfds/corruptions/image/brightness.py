"""Brightness: V of HSV raised by a constant, clipped.

docs/evidence/specs/corruptions.md sections 1 and 3. With hue and saturation kept, the
new pixel is the old one scaled by V'/V; a black pixel becomes grey. Computed as
an exact quotient of integers: the shifts are multiples of half a level.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import layout, packed

SEVERITIES = {  # added to V in [0, 1]
  "imagenet": (0.1, 0.2, 0.3, 0.4, 0.5),
  "tiny_imagenet": (0.1, 0.2, 0.3, 0.4, 0.5),
  "cifar10": (0.05, 0.1, 0.15, 0.2, 0.3),
}
SEVERITIES["ccc"] = spec.quarters(0, SEVERITIES["imagenet"])
_PARTS = 40  # 0.05 * 255 and 0.015 * 255 are multiples of 1/40 level


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `shift` of V in 1/40 levels, float32 `[5]`, integers."""
  return {"shift": units(np.array(edition.row(SEVERITIES), np.float64))}


def units(shift: np.ndarray) -> np.ndarray:
  """Convert shifts of V in [0, 1] to integers of 1/40 level, float32."""
  return np.round(shift * 255 * _PARTS).astype(np.float32)


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  natural = scene.table["shift"] + 255.0 * _PARTS
  pixel = packed.image_channels(scene.image, natural)
  value = functools.reduce(jnp.maximum, pixel)
  shift = scene.table["shift"].astype(jnp.int32)
  raised = jnp.clip(value * _PARTS + shift, 0, 255 * _PARTS)
  black = value == 0
  parts = jnp.where(black, _PARTS, value * _PARTS).astype(jnp.float32)
  # All terms are integers below 2**24; half a unit keeps the quotient clear of
  # rounding, so that truncation is that of the exact fraction.
  levels = [
    layout.truncate(
      ((jnp.where(black, 1, c) * raised).astype(jnp.float32) + 0.5) / parts
    )
    for c in pixel
  ]
  return packed.bytes_of(packed.join(*levels), natural)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  apply=apply,
)
