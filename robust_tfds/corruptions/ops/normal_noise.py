"""Standard normals, one a value: what Gaussian and speckle noise draw."""

from __future__ import annotations

import jax

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import layout


def draw(
  key: jax.Array,
  image: jax.Array,
  size: layout.Size,
  table: plugins.Table,
  edition: spec.Edition,
) -> jax.Array:
  """Standard normals, float32 `[H, W * 3]`."""
  del size, table, edition
  return seeding.normal(key, layout.flat(image).shape)
