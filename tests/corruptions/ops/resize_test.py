"""The resize of traced sizes: the host's, and the same bits on any canvas."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds import resizing
from robust_tfds.corruptions.ops import resize
from tests import resizing_golden


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
  def test_the_hosts_result_on_any_canvas(self, height, width, side, margins):
    picture = resizing_golden.levels(height, width)
    taps = [resizing.taps(n, side) for n in (height, width)]
    plain = _resized(picture, height, width, side)
    np.testing.assert_array_equal(plain, resizing.resized(picture, *taps))
    for below, right in margins:
      canvas = np.full((height + below, width + right, 3), 255, np.uint8)
      canvas[:height, :width] = picture
      padded = _resized(canvas, height, width, side)
      np.testing.assert_array_equal(padded, plain)

  def test_any_box(self):
    whole = jax.jit(lambda x, box: resize.bilinear(x, box, (64, 64)))
    rng = np.random.default_rng(0)
    picture = resizing_golden.levels(300, 400)
    for height, width in rng.integers(20, 300, (40, 2)).tolist():
      top, left = 300 - height, 400 - width
      taps = [resizing.taps(n, 64) for n in (height, width)]
      want = resizing.resized(picture[top:, left:], *taps)
      got = whole(picture, jnp.array([top, left, height, width], jnp.int32))
      np.testing.assert_array_equal(got, want, f"{height} x {width}")
