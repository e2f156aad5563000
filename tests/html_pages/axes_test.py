"""Curves on common axes: every point at its place."""

from absl.testing import absltest

from robust_tfds.html_pages import axes as axes_lib


class AxesTest(absltest.TestCase):
  def test_points_lie_where_their_values_are(self):
    axes = axes_lib.Axes([0, 1, 2, 3, 4, 5], 100.0)
    self.assertEqual(axes.at(0, 0), (32.0, 98.0))
    self.assertEqual(axes.at(5, 100), (168.0, 8.0))
    self.assertEqual(axes.at(2.5, 50), (100.0, 53.0))

  def test_wide_ones_end_further_right(self):
    axes = axes_lib.Axes([1, 3], 2.0, right=axes_lib.WIDE)
    self.assertEqual(axes.at(3, 2), (axes_lib.WIDE, 8.0))
    curve = axes_lib.Curve("a", "a: 1", {1: (1, None, None)}, {}, "w")
    self.assertEqual(curve.picture(axes, "over-a").class_, "w")
