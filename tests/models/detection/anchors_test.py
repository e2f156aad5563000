"""Anchors: places, shapes, and the two libraries' rounding."""

import numpy as np
from absl.testing import absltest

from models.detection import anchors
from models.detection.rules import RULES

_TORCHVISION, _MMDET = RULES["torchvision"], RULES["mmdetection"]


class AnchorsTest(absltest.TestCase):
  def test_grid(self):
    got = anchors.grid(
      (64, 32), ((8, 4), (4, 2)), ((16.0,), (32.0, 40.0)), (1.0, 2.0)
    )
    self.assertEqual(got.shape, (8 * 4 * 2 + 4 * 2 * 4, 4))
    np.testing.assert_array_equal(got[0], [-8, -8, 8, 8])
    np.testing.assert_array_equal(got[2], [0, -8, 16, 8])  # one step right
    self.assertGreater(got[1, 3] - got[1, 1], got[1, 2] - got[1, 0])

  def test_which_count(self):
    laid = np.array([[0, 0, 5, 5], [-1, 0, 5, 5], [0, 0, 5, 20.0]])
    got = anchors.inside(laid, np.array([[10, 10], [30, 5]]))
    want = [[True, False, False], [False, False, False]]
    np.testing.assert_array_equal(got, want)
    # Of places every 16 px in 10 x 40 px, padded to 32 x 64; two anchors each.
    got = anchors.inside_padded([(3, 5)], [16], 2, np.array([[10, 40]]))
    rows = np.arange(3)[:, None, None] < 2
    columns = np.arange(5)[:, None] < 4
    want = np.broadcast_to(rows & columns, (3, 5, 2)).reshape(1, -1)
    np.testing.assert_array_equal(got, want)

  def test_areas_and_ratios(self):
    got = anchors.shapes((32.0, 64.0), (0.5, 1.0, 2.0), 16, _MMDET)
    self.assertEqual(got.shape, (6, 4))
    sides = got[:, 2:] - got[:, :2]
    np.testing.assert_allclose(
      sides.prod(axis=1), [32**2, 64**2] * 3, rtol=1e-5
    )
    ratios = sides[:, 1] / sides[:, 0]
    np.testing.assert_allclose(ratios, np.repeat([0.5, 1, 2], 2), rtol=1e-5)
    whole = anchors.shapes((32.0, 64.0), (0.5, 1.0, 2.0), 16, _TORCHVISION)
    np.testing.assert_array_equal(whole, np.round(got))

  def test_fixed_strides_are_mmdetections(self):
    laid = ((4, 4),), ((8.0,),), (0.5,)
    got = anchors.grid((50, 50), *laid, strides=[16], rules=_MMDET)
    steps = got.reshape(4, 4, 4)
    np.testing.assert_array_equal(steps[0, 1] - steps[0, 0], [16, 0, 16, 0])
    np.testing.assert_array_equal(steps[3, 0] - steps[0, 0], [0, 48, 0, 48])
    self.assertNotEqual(float(got[0, 0]), np.round(got[0, 0]))

  def test_as_mmdetection_1(self):
    """Rounded, of whole pixels, around the middle of a cell."""
    rules = RULES["mmdetection1"]
    got = anchors.shapes((32.0,), (0.5, 1.0, 2.0), 4, rules)
    # base_size 4, scales [8]: middle 1.5, sides 32 / sqrt(ratio), 32 sqrt(ratio).
    want = [[-21, -9, 24, 12], [-14, -14, 17, 17], [-9, -21, 12, 24]]
    np.testing.assert_array_equal(got, want)
    laid = ((2, 3),), ((32.0,),), (1.0,)
    grid = anchors.grid((8, 12), *laid, strides=[4], rules=rules)
    np.testing.assert_array_equal(grid[1] - grid[0], [4, 0, 4, 0])
    np.testing.assert_array_equal(grid[3] - grid[0], [0, 4, 0, 4])
