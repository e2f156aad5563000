"""Speckle noise sequences: independent noise around the clean frame 0.

docs/specs/imagenet_p.md sections 2 and 4; the noise itself is
`image/speckle_noise.py`.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import images
from robust_tfds.corruptions import seeding
from robust_tfds.corruptions import spec
from robust_tfds.corruptions.image import speckle_noise

ROWS = ("index",)
_FRAMES = 31
_SIGMA = {  # standard deviation relative to v, by difficulty
  "imagenet": (0.05, 0.1, 0.15),
  "inception": (0.06, 0.11, 0.16),
  "imagenet64": (0.05, 0.1, 0.15),
  "tiny_imagenet": (0.05, 0.1, 0.15),
  "cifar10": (0.05, 0.07, 0.1),
}


def on_source(edition: spec.Edition) -> bool:
  """On the edition's crop."""
  del edition
  return False


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """`index` `[31]` and `sigma`."""
  sigma = _SIGMA[edition.name][difficulty - 1]
  return {"index": np.arange(_FRAMES), "sigma": np.float32(sigma)}


def draw(key, image, size, table, edition) -> jax.Array:
  """The key itself: each frame draws its own field, by its index."""
  del image, size, table, edition
  return key


def frame(image, draws, size, row, edition) -> jax.Array:
  """Frame 0 is clean; frame i is the clean one with noise of its own."""
  normals = seeding.normal(draws, images.flat(image).shape, row["index"])
  noisy = speckle_noise.apply(image, normals, size, row, edition)
  return jnp.where(
    row["index"] == 0, images.flat(image), images.to_uint8(noisy)
  )
