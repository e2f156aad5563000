"""Points: whiskers, names, lines between them and through them."""

import numpy as np
from absl.testing import absltest

from eval.charts import scatter
from robust_tfds.charts.frame import INSIDE, Frame
from robust_tfds.charts.style import Value


def _axes(*points, **panel):
  drawn = scatter.draw(
    [scatter.Panel(points, **panel)], Frame(4, 3, legend=INSIDE)
  )
  return drawn.axes[0]


class ScatterTest(absltest.TestCase):
  def test_points_of_the_same_looks_are_named_once(self):
    points = [scatter.Point(Value(i), Value(i), label="a") for i in range(3)]
    other = scatter.Point(Value(5), Value(6), 1, "b", hollow=True)
    ax = _axes(*points, other)
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    self.assertEqual(texts, ["a", "b"])
    one, two = ax.collections
    self.assertLen(one.get_offsets(), 3)
    np.testing.assert_array_equal(two.get_facecolor()[0][:3], [1, 1, 1])

  def test_whiskers(self):
    ax = _axes(scatter.Point(Value(1, 0, 2), Value(5, 4, 7)))
    ends = [c.get_segments()[0].tolist() for c in ax.collections[:2]]
    self.assertEqual(ends, [[[0, 5], [2, 5]], [[1, 4], [1, 7]]])

  def test_names_beside_and_placed(self):
    points = [
      scatter.Point(Value(i), Value(0), name=f"net {i}", joins="all")
      for i in range(3)
    ]
    for naming in (scatter.BESIDE, scatter.PLACED):
      ax = _axes(*points, naming=naming)
      names = [t.get_text() for t in ax.texts if t.get_text()]
      self.assertEqual(names, ["net 0", "net 1", "net 2"])
      (joined,) = ax.lines
      np.testing.assert_array_equal(joined.get_xdata(), [0, 1, 2])

  def test_lines_and_their_bands(self):
    looks = {"color": "#444444"}
    line = scatter.Line([0, 1], [1, 2], "fit", looks, ([0, 1], [2, 3]))
    ax = _axes(lines=[line], ends=((0, 1), (-1, 4)), arrows=[((0, 0), (1, 1))])
    self.assertLen(ax.lines, 1)
    self.assertLen(ax.collections, 1)
    self.assertEqual(ax.get_ylim(), (-1, 4))
    self.assertLen(ax.texts, 1)
