"""The resize: Pillow's, and the same bits on any canvas."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds.corruptions.ops import resize


def _picture(height: int, width: int) -> np.ndarray:
  rng = np.random.default_rng(0)
  small = rng.integers(0, 256, (height // 4 + 1, width // 4 + 1, 3), np.uint8)
  large = Image.fromarray(small).resize(
    (width, height), Image.Resampling.BICUBIC
  )
  return np.asarray(large)


def _resized(canvas: np.ndarray, height: int, width: int, side: int):
  box = (jnp.int32(0), jnp.int32(0), jnp.int32(height), jnp.int32(width))
  whole = jax.jit(lambda x, b: resize.bilinear(x, b, (side, side)))
  return np.asarray(whole(jnp.asarray(canvas), box))


class ResizeTest(parameterized.TestCase):
  @parameterized.parameters(
    (90, 80, 64, ((0, 7), (37, 90), (200, 1))),
    (333, 500, 64, ((37, 90),)),
    (140, 149, 299, ((200, 1),)),
  )
  def test_pillows_result_on_any_canvas(self, height, width, side, margins):
    picture = _picture(height, width)
    pillow = np.asarray(
      Image.fromarray(picture).resize((side, side), Image.Resampling.BILINEAR)
    )
    plain = _resized(picture, height, width, side)
    apart = np.abs(plain.astype(int) - pillow)
    self.assertLessEqual(apart.max(), 1)
    self.assertLess((apart > 0).mean(), 0.002)
    for below, right in margins:
      canvas = np.full((height + below, width + right, 3), 255, np.uint8)
      canvas[:height, :width] = picture
      padded = _resized(canvas, height, width, side)
      np.testing.assert_array_equal(padded, plain)
