"""Bars: where they stand, their whiskers, what tells them apart."""

import math

import numpy as np
from absl.testing import absltest

from eval.charts import bars
from robust_tfds.charts.frame import Frame
from robust_tfds.charts.style import Value


def _draw(*values, names=("a", "b"), level=None, **groups):
  series = [
    bars.Series(f"series {i}", list(map(Value, v)), level)
    for i, v in enumerate(values)
  ]
  fig = bars.draw(
    [bars.Panel(series)], bars.Groups(names, **groups), Frame(4, 3)
  )
  return fig.axes[0]


class BarsTest(absltest.TestCase):
  def test_bars_stand_around_their_tick(self):
    ax = _draw([1, 2], [3, math.nan])
    self.assertEqual([p.get_height() for p in ax.patches], [1, 2, 3])
    middles = [p.get_x() + p.get_width() / 2 for p in ax.patches]
    np.testing.assert_allclose(middles, [-0.2, 0.8, 0.2])
    names = [t.get_text() for t in ax.get_xticklabels()]
    self.assertEqual(names, ["a", "b"])

  def test_series_differ_by_more_than_colour(self):
    first = _draw(*([i, i] for i in range(8))).patches[::2]
    self.assertLen({p.get_hatch() for p in first}, 8)
    self.assertLen({p.get_facecolor() for p in first}, 8)

  def test_whiskers_are_the_ends(self):
    series = bars.Series("x", [Value(5, 4, 8), Value(7)])
    groups = bars.Groups(("a", "b"))
    ax = bars.draw([bars.Panel([series])], groups, Frame(4, 3)).axes[0]
    (lines,) = ax.collections
    segments = [s[:, 1].tolist() for s in lines.get_segments()]
    self.assertEqual(segments, [[4, 8], [7, 7]])

  def test_one_interval_flattens_no_other_bar(self):
    series = [bars.Series("x", [Value(90, 60, 120), Value(110, 20, 1700)])]
    groups = bars.Groups(("a", "b"))
    ax = bars.draw([bars.Panel(series)], groups, Frame(4, 3)).axes[0]
    self.assertEqual(ax.get_ylim()[1], 220)
    self.assertEqual([t.get_text() for t in ax.texts], ["↑1,700"])
    usual = _draw([90, 110])
    self.assertEmpty(usual.texts)

  def test_names_heads_and_numbers(self):
    ax = _draw(
      [1, 2, 3],
      names=("a", "b", "c"),
      heads=("noise", "noise", "blur"),
      slant=True,
      numbers=True,
    )
    self.assertEqual(ax.get_xticklabels()[0].get_rotation(), 40)
    texts = {t.get_text(): t.get_position()[0] for t in ax.texts}
    self.assertEqual((texts["noise"], texts["blur"]), (0.5, 2.0))
    self.assertContainsSubset(("1", "2", "3"), texts)

  def test_a_level_is_in_the_legend(self):
    ax = _draw([1, 2], level=3)
    labels = ax.get_legend_handles_labels()[1]
    self.assertCountEqual(labels, ["series 0", "series 0, clean"])
