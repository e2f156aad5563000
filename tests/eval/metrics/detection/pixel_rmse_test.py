"""RMSE of images: does not wrap, means over the images of a cell."""

import numpy as np
from absl.testing import absltest

from eval.metrics import detection


def _flat(level: int) -> np.ndarray:
  return np.full((2, 3, 3), level, np.uint8)


class RmseTest(absltest.TestCase):
  def test_does_not_wrap(self):
    self.assertEqual(detection.rmse(_flat(255), _flat(0)), 255.0)
    self.assertEqual(detection.rmse(_flat(0), _flat(255)), 255.0)

  def test_squares_before_the_mean(self):
    corrupted = _flat(0)
    corrupted[0] = 10
    self.assertAlmostEqual(detection.rmse(_flat(0), corrupted), np.sqrt(50))

  def test_shapes(self):
    with self.assertRaisesRegex(ValueError, "Images of one shape"):
      detection.rmse(_flat(0), _flat(0)[:1])

  def test_table_is_the_mean_of_each_cell(self):
    got = detection.rmse_table(
      [
        ("fog", 1, _flat(0), _flat(10)),
        ("fog", 2, _flat(0), _flat(100)),
        ("fog", 1, _flat(0), _flat(30)),
      ]
    )
    self.assertEqual(got, {("fog", 1): 20.0, ("fog", 2): 100.0})
