"""Spans: bars between two numbers, or numbers with whiskers."""

from absl.testing import absltest

from eval.charts import spans
from robust_tfds.charts.frame import Frame
from robust_tfds.charts.style import Value


class SpansTest(absltest.TestCase):
  def test_a_bar_joins_the_two_numbers_of_a_line(self):
    series = {"clean": [Value(5), Value(7)], "after": [Value(3), Value(1)]}
    (ax,) = spans.draw([spans.Panel(["cat", "dog"], series)], Frame(4, 3)).axes
    bars = [line.get_xdata() for line in ax.lines[:2]]
    self.assertEqual([list(b) for b in bars], [[5, 3], [7, 1]])
    names = [t.get_text() for t in ax.get_yticklabels()]
    self.assertEqual(names, ["cat", "dog"])

  def test_numbers_with_whiskers_stand_apart(self):
    series = {str(i): [Value(5, 4, 6)] for i in range(3)}
    panel = spans.Panel(["cat"], series, joined=False)
    (ax,) = spans.draw([panel], Frame(4, 3)).axes
    heights = {float(line.get_ydata()[0]) for line in ax.lines}
    self.assertLen(heights, 3)
    self.assertLen(ax.collections, 3)
