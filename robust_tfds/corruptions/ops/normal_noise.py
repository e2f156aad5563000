"""Standard normals, one per value, for Gaussian and speckle noise."""

import jax

from robust_tfds.corruptions import plugins, seeding
from robust_tfds.corruptions.ops import layout


def draw(scene: plugins.Scene) -> jax.Array:
  """Draw standard normals, float32 `[H, W * 3]`."""
  return seeding.normal(scene.key, layout.flat(scene.image).shape)
