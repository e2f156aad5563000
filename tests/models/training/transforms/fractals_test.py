"""Fractals are seeded, differ, and are no plain areas."""

import numpy as np
from absl.testing import parameterized

from models import training
from robust_tfds import errors


class FractalsTest(parameterized.TestCase):
  def test_pictures_hang_on_seed_and_number_alone(self):
    four = training.fractals(4, 32)
    self.assertEqual((four.shape, four.dtype), ((4, 32, 32, 3), np.uint8))
    np.testing.assert_array_equal(training.fractals(2, 32), four[:2])
    self.assertFalse((training.fractals(2, 32, seed=1) == four[:2]).all())
    self.assertLen(np.unique(four.reshape(4, -1), axis=0), 4)

  def test_none_is_plain(self):
    spread = training.fractals(30, 32).std(axis=(1, 2)).max(axis=-1)
    self.assertGreater(spread.min(), 15)

  @parameterized.parameters((0, 32), (2, 7), (2, 5000), (1.5, 32))
  def test_refuses(self, count, side):
    with self.assertRaises(errors.UserError):
      training.fractals(count, side)
