"""Normals, one a value, the same in any canvas."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import layout, normal_noise

_EDITION = spec.edition("any")


def _draws(height: int, width: int) -> np.ndarray:
  image = np.zeros((height, width, 3), np.uint8)
  size, key = layout.Size(20, 30), np.array([1, 2], np.uint32)
  scene = plugins.Scene(image, size, {}, _EDITION, key)
  return np.asarray(jax.jit(lambda: normal_noise.draw(scene))())


class NormalNoiseTest(absltest.TestCase):
  def test_standard(self):
    draws = _draws(64, 64)
    self.assertEqual((draws.shape, draws.dtype), ((64, 192), np.float32))
    self.assertAlmostEqual(draws.mean(), 0, delta=0.05)
    self.assertAlmostEqual(draws.std(), 1, delta=0.03)

  def test_any_canvas(self):
    np.testing.assert_array_equal(_draws(64, 64)[:20, :90], _draws(20, 30))
