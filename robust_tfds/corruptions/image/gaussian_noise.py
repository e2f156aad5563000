"""Gaussian noise: clip(v + sigma * N(0, 1)), i.i.d. per value.

docs/evidence/specs/corruptions.md sections 1 and 3 (make_imagenet_c.py, gaussian_noise).
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import layout, normal_noise

SEVERITIES = {  # standard deviation, of v in [0, 1]
  "imagenet": (0.08, 0.12, 0.18, 0.26, 0.38),
  "inception": (0.09, 0.13, 0.19, 0.27, 0.40),
  "tiny_imagenet": (0.04, 0.08, 0.12, 0.15, 0.18),
  "cifar10": (0.04, 0.06, 0.08, 0.09, 0.10),
}
SEVERITIES["ccc"] = spec.quarters(0, SEVERITIES["imagenet"])


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `sigma` in levels, float32 `[5]`."""
  sigma = np.array(edition.row(SEVERITIES), np.float64) * 255
  return {"sigma": sigma.astype(np.float32)}


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels `[H, W * 3]`; `draws` are standard normals, one a value."""
  levels = layout.flat(scene.image).astype(jnp.float32)
  return levels + scene.table["sigma"] * layout.flat(draws)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=normal_noise.draw,
  apply=apply,
)
