"""Dice that fall alike for ever, fields that run smoothly."""

import numpy as np
from absl.testing import absltest

from robust_tfds.building import drawing


class DiceTest(absltest.TestCase):
  def test_fall_alike_for_a_name_and_else_not(self):
    def thrown(*what):
      return drawing.Dice(*what).uniform(500)

    first = thrown("signs", "scene", "a")
    np.testing.assert_array_equal(thrown("signs", "scene", "a"), first)
    for other in (("digits",), ("signs", "sky"), ("signs", "scene", "b")):
      what = (*other, *("signs", "scene", "a")[len(other) :])
      self.assertLess(np.corrcoef(first, thrown(*what))[0, 1], 0.2)

  def test_reach_both_ends(self):
    dice = drawing.Dice("signs", "scene", "a")
    thrown = [dice.integer(-1, 2) for _ in range(200)]
    self.assertEqual(set(thrown), {-1, 0, 1, 2})
    thrown = [dice.between(3, 5) for _ in range(200)]
    self.assertTrue(3 <= min(thrown) < 3.1 < 4.9 < max(thrown) < 5)


class StretchTest(absltest.TestCase):
  def test_corners_stay_and_lines_are_straight(self):
    grid = np.array([[[0.0], [2.0]], [[4.0], [6.0]]])
    got = drawing.stretch(grid, 3, 5)[..., 0]
    np.testing.assert_allclose(got[0], [0, 0.5, 1, 1.5, 2])
    np.testing.assert_allclose(got[:, 4], [2, 4, 6])


if __name__ == "__main__":
  absltest.main()
