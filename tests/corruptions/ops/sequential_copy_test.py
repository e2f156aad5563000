"""The parallel copy against the loop it stands for."""

import jax
import numpy as np
from absl.testing import parameterized

from robust_tfds.corruptions.ops import sequential_copy


def _loop(image, down, right, delta):
  """make_imagenet_c.py's glass_blur: a swap of views, that is, a copy."""
  image = image.copy()
  height, width = image.shape
  for h in range(height - delta, delta, -1):
    for w in range(width - delta, delta, -1):
      image[h, w] = image[h + down[h, w], w + right[h, w]]
  return image


class SequentialCopyTest(parameterized.TestCase):
  @parameterized.parameters(
    ((23, 31), 1), ((23, 31), 4), ((9, 40), 2), ((8, 8), 4), ((3, 3), 1)
  )
  def test_equals_the_loop(self, shape, delta):
    rng = np.random.default_rng(0)
    image = np.arange(shape[0] * shape[1]).reshape(shape)
    down, right = rng.integers(-delta, delta, (2, *shape)).astype(np.int32)
    want = _loop(image, down, right, delta)
    got = sequential_copy.sources(down, right, delta, shape)
    np.testing.assert_array_equal(np.asarray(got).reshape(shape), want)

  def test_long_chains_and_a_traced_size_in_a_canvas(self):
    down = np.zeros((20, 30), np.int32)
    right = np.full((20, 30), 1, np.int32)  # every pixel copies its right one
    right[5] = -1
    size = (15, 22)
    image = np.arange(600).reshape(20, 30)
    corner = tuple(slice(n) for n in size)
    want = _loop(image[corner], down[corner], right[corner], 2)
    got = jax.jit(sequential_copy.sources)(down, right, 2, size)
    got = np.asarray(got).reshape(20, 30)
    np.testing.assert_array_equal(got[corner], want)
