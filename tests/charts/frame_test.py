"""Panels of a chart: how many, with which words, and where the legend is."""

from absl.testing import absltest

from robust_tfds.charts import lines
from robust_tfds.charts.frame import ABOVE, INSIDE, OVER, Frame
from robust_tfds.charts.style import Value


def _draw(count, **frame):
  line = lines.Line("one", [0, 1], [Value(1)] * 2, 0)
  panel = lines.Panel([line], title="title")
  return lines.draw([panel] * count, Frame(6, 4, **frame))


class FrameTest(absltest.TestCase):
  def test_panels_that_are_not_needed_are_not_seen(self):
    fig = _draw(3, columns=2, x="below", y="left")
    self.assertEqual([a.get_visible() for a in fig.axes], [True] * 3 + [False])
    self.assertEqual([a.get_ylabel() for a in fig.axes], ["left", ""] * 2)
    self.assertEqual([a.get_xlabel() for a in fig.axes[:3]], ["", "", "below"])
    self.assertEqual(fig.axes[0].get_title(loc="left"), "title")

  def test_axes_that_are_not_shared_have_words_of_their_own(self):
    fig = _draw(2, x="below", y="left", share="")
    self.assertEqual([a.get_ylabel() for a in fig.axes], ["left"] * 2)

  def test_ends_and_ticks(self):
    ends = {"x_ends": (-1, 2), "y_ends": (0, None)}
    (ax,) = _draw(1, x_ticks=([0, 1], ["a", "b"]), **ends).axes
    self.assertEqual(ax.get_xlim(), (-1, 2))
    self.assertEqual(ax.get_ylim()[0], 0)
    self.assertEqual([t.get_text() for t in ax.get_xticklabels()], ["a", "b"])

  def test_legends(self):
    above = _draw(2, legend=ABOVE, title="all")
    self.assertLen(above.legends, 1)
    self.assertEqual(above.legends[0].get_title().get_text(), "all")
    for place in (INSIDE, OVER):
      fig = _draw(2, legend=place)
      self.assertTrue(all(a.get_legend() for a in fig.axes))
    self.assertIsNone(_draw(1).axes[0].get_legend())
