"""Translation by whole pixels; the content moves right as i grows.

docs/evidence/specs/imagenet_p.md sections 2 and 4.
"""

import jax
import numpy as np

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import geometry, warp

_FRAMES_AND_CLEAN = {  # number of frames, index of the clean one
  "imagenet": (41, 20),
  "inception": (41, 20),
  "imagenet64": (31, 15),
  "tiny_imagenet": (31, 15),
  "cifar10": (16, 7),
}


def tables(edition: spec.Edition, difficulty: int) -> dict[str, np.ndarray]:
  """Return `shift` in px, float32 `[T]`."""
  frames, clean = _FRAMES_AND_CLEAN[edition.name]
  return {"shift": np.arange(frames, dtype=np.float32) - clean}


def frame(scene: plugins.Scene, draws: None) -> jax.Array:
  """Compute one frame, uint8 `[S, S * 3]`."""
  size, row = scene.size, scene.table

  def sample(packed: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    return warp.pillow_nearest(packed, x + 0.5 - row["shift"], y + 0.5, size)

  return geometry.render(scene.image, size, scene.edition, sample)


PLUGIN = plugins.FrameByFrame(
  tables=tables,
  rows=("shift",),
  frame=frame,
  on_source=("imagenet", "inception"),
)
