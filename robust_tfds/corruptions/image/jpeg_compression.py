"""JPEG compression: a save at low quality and a load, equal to Pillow's.

docs/evidence/specs/corruptions.md sections 1 and 3.
"""

import jax
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import jpeg

SEVERITIES = {  # quality
  "imagenet": (25, 18, 15, 10, 7),
  "inception": (23, 16, 13, 8, 5),
  "tiny_imagenet": (65, 58, 50, 40, 25),
  "cifar10": (80, 65, 58, 50, 40),
}
SEVERITIES["ccc"] = tuple(map(round, spec.quarters(85, SEVERITIES["imagenet"])))


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `quantisation` of luma and chroma, int32 `[5, 2, 8, 8]`."""
  return {"quantisation": jpeg.tables(edition.row(SEVERITIES))}


def apply(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute levels, uint8 `[H, W * 3]`."""
  return jpeg.roundtrip(scene.image, scene.size, scene.table["quantisation"])


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  apply=apply,
)
