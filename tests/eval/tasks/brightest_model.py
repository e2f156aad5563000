"""A detector without weights that is right about some of the scenes of digits."""

import jax.numpy as jnp
import numpy as np

from models.detection.detector import DetectorSpec
from models.segmentation.spec import SegmenterSpec


class Brightest:
  """Finds the brightest 20 x 20 patch of a picture and calls it a 1."""

  name = "brightest"
  spec = DetectorSpec(num_classes=10, label_space="digits", short_px=0)

  def init(self, key):
    del key
    return {"nothing": np.zeros(1, np.float32)}

  def apply(self, variables, images, sizes):
    del variables
    grey = images.astype(jnp.float32).mean(-1)
    rows, wide = grey.shape[1] // 4, grey.shape[2] // 4
    cells = grey.reshape(len(grey), rows, 4, wide, 4).mean((2, 4))
    best = cells.reshape(len(grey), -1).argmax(1)
    y, x = 4.0 * (best // wide), 4.0 * (best % wide)
    box = jnp.stack([x, y, x + 20, y + 20], -1)[:, None]
    limit = jnp.concatenate([sizes[:, ::-1]] * 2, 1)[:, None]
    n = len(grey)
    return {
      "boxes": jnp.concatenate(
        [jnp.minimum(box, limit), jnp.zeros((n, 1, 4))], 1
      ),
      "scores": jnp.tile(jnp.array([0.75, 0.0]), (n, 1)),
      "classes": jnp.tile(jnp.array([1, 0]), (n, 1)),
      "valid": jnp.tile(jnp.array([True, False]), (n, 1)),
    }


class BrightestPixels(Brightest):
  """Calls bright pixels a 1 (class 2), and all others background."""

  spec = SegmenterSpec(num_classes=11, label_space="digits_segmentation")

  def apply(self, variables, images, sizes):
    del variables, sizes
    grey = images.astype(jnp.float32).mean(-1)
    return jnp.where(grey > 160, 2, 0)


def build_segmenter() -> BrightestPixels:
  """`tests.eval.tasks.brightest_model:build_segmenter`."""
  return BrightestPixels()


def build() -> Brightest:
  """`tests.eval.tasks.brightest_model:build`."""
  return Brightest()
