"""Interpolation of positions: what holds at any size."""

import numpy as np
from absl.testing import absltest, parameterized

from models.layers import positions


class WeightsTest(parameterized.TestCase):
  @parameterized.product(
    inputs=(3, 14, 37), outputs=(2, 14, 24), antialias=(False, True)
  )
  def test_rows_sum_to_one(self, inputs, outputs, antialias):
    matrix = positions.weights(inputs, outputs, antialias=antialias)
    self.assertEqual(matrix.shape, (outputs, inputs))
    np.testing.assert_allclose(matrix.sum(1), 1, atol=1e-6)

  @parameterized.parameters(False, True)
  def test_the_same_grid_stays(self, antialias):
    matrix = positions.weights(7, 7, antialias=antialias)
    np.testing.assert_allclose(matrix, np.eye(7), atol=1e-7)

  def test_a_slope_stays_a_slope_inside(self):
    matrix = positions.weights(16, 32, antialias=True)
    got = matrix @ np.arange(16)
    np.testing.assert_allclose(got[6:-6], (np.arange(32) / 2 - 0.25)[6:-6])


class GridTest(absltest.TestCase):
  def test_counts_patches_or_refuses(self):
    self.assertEqual(positions.grid(224, 16), 14)
    with self.assertRaisesRegex(
      ValueError, "100 px, expected a multiple of 16"
    ):
      positions.grid(100, 16)


class FitTest(absltest.TestCase):
  def test_only_positions_of_the_same_tokens(self):
    array = np.ones((1, 5, 8), np.float32)
    self.assertIsNone(positions.fit(("cls_token",), array, (1, 10, 8)))
    self.assertIsNone(positions.fit(("pos_embed",), array, (1, 10, 9)))
    self.assertIsNone(positions.fit(("pos_embed",), array, (1, 11, 8)))
    got, note = positions.fit(("pos_embed",), array[0], (1, 10, 8))
    np.testing.assert_allclose(got, np.ones((1, 10, 8)), atol=1e-6)
    self.assertIn("2 x 2 patches were interpolated to 3 x 3", note)
