"""Noise sequences: frame 0 is the clean picture, each later one has its own noise.

docs/specs/imagenet_p.md sections 2 and 4. A sequence draws nothing ahead: its draw
is the key, and frame i is drawn as stream i of it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import layout

_FRAMES = 31
ROWS = ("index",)


def index_table() -> plugins.Arrays:
  """`index` of every frame, `[31]`."""
  return {"index": np.arange(_FRAMES)}


def draw(
  key: jax.Array,
  image: jax.Array,
  size: layout.Size,
  table: plugins.Table,
  edition: spec.Edition,
) -> jax.Array:
  """The key itself: each frame draws its own field, by its index."""
  del image, size, table, edition
  return key


def gaussian(apply: plugins.Apply) -> plugins.Apply:
  """The `frame` of a sequence whose noise is `apply` of standard normals.

  Args:
    apply: that of an image corruption; its draws are float32 `[H, W * 3]`.
  """

  def frame(
    image: jax.Array,
    draws: jax.Array,
    size: layout.Size,
    row: plugins.Table,
    edition: spec.Edition,
  ) -> jax.Array:
    """Frame 0 is clean; frame i is the clean one with noise of its own."""
    normals = seeding.normal(draws, layout.flat(image).shape, row["index"])
    noisy = apply(image, normals, size, row, edition)
    return unless_first(image, noisy, row["index"])

  return frame


def unless_first(
  image: jax.Array, noisy: jax.Array, index: jax.Array
) -> jax.Array:
  """uint8 `[S, S * 3]`: the image itself in frame 0, else the noisy levels."""
  return jnp.where(index == 0, layout.flat(image), layout.to_uint8(noisy))
