"""Lines: bands or whiskers, levels, and looks of their own."""

import numpy as np
from absl.testing import absltest

from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import Frame
from robust_tfds.charts.style import Value


def _axes(line, **panel):
  drawn = lines.draw([lines.Panel([line], **panel)], Frame(4, 3))
  return drawn.axes[0]


class LinesTest(absltest.TestCase):
  def test_a_band_is_the_interval(self):
    values = [Value(1, 0.5, 2), Value(2, 1, 4)]
    ax = _axes(lines.Line("a", [0, 1], values, 1))
    (line,), (band,) = ax.lines, ax.collections
    np.testing.assert_array_equal(line.get_ydata(), [1, 2])
    self.assertEqual(line.get_color(), style.colour(1))
    ends = band.get_paths()[0].vertices[:, 1]
    self.assertEqual((ends.min(), ends.max()), (0.5, 4))

  def test_without_intervals_there_is_no_band(self):
    self.assertEmpty(_axes(lines.Line("a", [0], [Value(1)], 0)).collections)

  def test_a_band_does_not_narrow_to_a_point_without_an_interval(self):
    values = [Value(1, 0.5, 2), Value(2)]
    ax = _axes(lines.Line("a", [0, 1], values, 1))
    (whiskers,) = ax.collections
    self.assertEqual(whiskers.get_segments()[0][:, 1].tolist(), [0.5, 2])

  def test_whiskers(self):
    ax = _axes(lines.Line("a", [0], [Value(1, 0, 3)], 0, whiskers=True))
    (whiskers,) = ax.collections
    self.assertEqual(whiskers.get_segments()[0][:, 1].tolist(), [0, 3])

  def test_levels_and_looks(self):
    line = lines.Line("a", [0], [Value(1)], 0, looks={"linestyle": ":"})
    ax = _axes(line, levels=[(7, 2)], x="below")
    self.assertEqual(ax.lines[0].get_linestyle(), ":")
    self.assertEqual(ax.collections[0].get_segments()[0][0].tolist(), [1, 7])
    self.assertEqual(ax.get_xlabel(), "below")
