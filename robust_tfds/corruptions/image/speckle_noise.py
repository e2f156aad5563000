"""Speckle noise: clip(v + v * sigma * N(0, 1)), i.i.d. per value.

docs/evidence/specs/corruptions.md sections 1 and 3 (make_imagenet_c.py, speckle_noise).
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import layout, normal_noise

SEVERITIES = {  # standard deviation, relative to v
  "imagenet": (0.15, 0.20, 0.35, 0.45, 0.60),
  "inception": (0.16, 0.21, 0.36, 0.46, 0.61),
  "tiny_imagenet": (0.15, 0.20, 0.25, 0.30, 0.35),
  "cifar10": (0.06, 0.10, 0.12, 0.16, 0.20),
}


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `sigma`, float32 `[5]`."""
  return {"sigma": np.array(edition.row(SEVERITIES), np.float32)}


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels `[H, W * 3]`; `draws` are standard normals, one a value."""
  levels = layout.flat(scene.image).astype(jnp.float32)
  return levels + levels * scene.table["sigma"] * layout.flat(draws)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=normal_noise.draw,
  apply=apply,
)
