"""Standard normals, one a value: what Gaussian and speckle noise draw."""

import jax

from robust_tfds.corruptions import plugins, seeding
from robust_tfds.corruptions.ops import layout


def draw(scene: plugins.Scene) -> jax.Array:
  """Standard normals, float32 `[H, W * 3]`."""
  return seeding.normal(scene.key, layout.flat(scene.image).shape)
