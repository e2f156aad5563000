"""Noise sequences: frame 0 is the clean picture, each later frame has its own noise.

docs/evidence/specs/imagenet_p.md sections 2 and 4. A sequence draws nothing in advance:
frame i is drawn as stream i of its key.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding
from robust_tfds.corruptions.ops import layout

_FRAMES = 31
ROWS = ("index",)


def index_table() -> plugins.Arrays:
  """Return `index` of every frame, `[31]`."""
  return {"index": np.arange(_FRAMES)}


def gaussian(apply: plugins.Apply) -> plugins.Apply:
  """Return the `frame` of a sequence whose noise is `apply` of standard normals.

  Args:
    apply: `apply` of an image corruption; its draws are float32 `[H, W * 3]`.
  """

  def frame(scene: plugins.Scene, draws: None) -> jax.Array:
    """Return a frame: frame 0 is clean, frame i has its own noise."""
    image, index = scene.image, scene.table["index"]
    normals = seeding.normal(scene.key, layout.flat(image).shape, index)
    return unless_first(image, apply(scene, normals), index)

  return frame


def unless_first(
  image: jax.Array, noisy: jax.Array, index: jax.Array
) -> jax.Array:
  """Return uint8 `[S, S * 3]`: the image itself in frame 0, else the noisy levels."""
  return jnp.where(index == 0, layout.flat(image), layout.to_uint8(noisy))
