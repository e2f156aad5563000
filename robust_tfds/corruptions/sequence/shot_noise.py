"""Shot noise sequences: independent noise around the clean frame 0.

docs/specs/imagenet_p.md sections 2 and 4; the noise itself is
`image/shot_noise.py`.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import images
from robust_tfds.corruptions import spec
from robust_tfds.corruptions.image import shot_noise

ROWS = ("index",)
_FRAMES = 31
_RATE = {  # expected photons of a white value, by difficulty
  "imagenet": (300, 120, 60),
  "inception": (250, 100, 50),
  "imagenet64": (500, 250, 125),
  "tiny_imagenet": (500, 250, 125),
  "cifar10": (700, 400, 200),
}


def on_source(edition: spec.Edition) -> bool:
  """On the edition's crop."""
  del edition
  return False


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """`index` `[31]` and the alias table of the rate."""
  rate = _RATE[edition.name][difficulty - 1]
  return {"index": np.arange(_FRAMES), **shot_noise.alias_tables([rate])}


def draw(key, image, size, table, edition) -> jax.Array:
  """The key itself: each frame draws its own field, by its index."""
  del image, size, table, edition
  return key


def frame(image, draws, size, row, edition) -> jax.Array:
  """Frame 0 is clean; frame i is the clean one with noise of its own."""
  table = {k: v[0] for k, v in row.items() if k != "index"}
  counts = shot_noise.draw(
    draws, image, size, table, edition, stream=row["index"]
  )
  noisy = shot_noise.apply(image, counts, size, table, edition)
  return jnp.where(
    row["index"] == 0, images.flat(image), images.to_uint8(noisy)
  )
