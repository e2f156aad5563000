"""Noise sequences: a clean first frame, then noise of each frame's own."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import fresh_noise, layout

_KEY = np.array([3, 4], np.uint32)
_CIFAR = spec.edition("cifar10")


def _added(scene, normals):
  """A corruption that adds its normals, ten levels a unit."""
  return layout.flat(scene.image) + 10 * normals


class FreshNoiseTest(absltest.TestCase):
  def test_a_row_for_every_frame(self):
    np.testing.assert_array_equal(
      fresh_noise.index_table()["index"], np.arange(31)
    )
    self.assertEqual(tuple(fresh_noise.index_table()), fresh_noise.ROWS)

  def test_frames(self):
    image = np.full((4, 5, 3), 128, np.uint8)
    size = layout.Size(4, 5)

    @jax.jit
    def at(index):
      scene = plugins.Scene(image, size, {"index": index}, _CIFAR, _KEY)
      return fresh_noise.gaussian(_added)(scene, None)

    np.testing.assert_array_equal(at(0), layout.flat(image))
    for index in (1, 2):
      normals = np.asarray(seeding.normal(_KEY, (4, 15), index))
      expected = (128 + 10 * normals).astype(np.uint8)
      np.testing.assert_array_equal(at(index), expected)
