"""Bars: where they stand, their whiskers, what tells them apart."""

import math

import numpy as np
from absl.testing import absltest

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures.parts import bars


class BarsTest(absltest.TestCase):
  def draw(self, *series, groups=("a", "b")):
    ax = style.axes(style.figure(4, 3), 1, 1)[0, 0]
    bars.draw(ax, groups, series)
    return ax

  def test_heights_and_places(self):
    ax = self.draw(bars.Series("x", [1, 2]), bars.Series("y", [3, math.nan]))
    heights = [p.get_height() for p in ax.patches]
    np.testing.assert_array_equal(heights, [1, 2, 3, math.nan])
    left = [p.get_x() for p in ax.patches]
    self.assertLess(left[0], left[2])
    self.assertAlmostEqual(left[2] - left[0], ax.patches[0].get_width())
    names = [t.get_text() for t in ax.get_xticklabels()]
    self.assertEqual(names, ["a", "b"])

  def test_series_differ_by_more_than_colour(self):
    ax = self.draw(*(bars.Series(str(i), [i, i]) for i in range(8)))
    first = ax.patches[::2]
    self.assertLen({p.get_hatch() for p in first}, 8)
    self.assertLen({p.get_facecolor() for p in first}, 8)

  def test_whiskers_are_the_ends(self):
    ax = self.draw(bars.Series("x", [5, 7], [(4, 8), (None, None)]))
    (lines,) = ax.collections
    segments = [s[:, 1].tolist() for s in lines.get_segments()]
    self.assertEqual(segments, [[4, 8], [7, 7]])

  def test_slanted_names_and_heads(self):
    ax = self.draw(bars.Series("x", [1, 2, 3]), groups=("a", "b", "c"))
    bars.slant(ax)
    style.head_groups(ax, ["noise", "noise", "blur"])
    self.assertEqual(ax.get_xticklabels()[0].get_rotation(), 40)
    heads = {t.get_text(): t.get_position()[0] for t in ax.texts}
    self.assertEqual(heads, {"noise": 0.5, "blur": 2.0})


if __name__ == "__main__":
  absltest.main()
