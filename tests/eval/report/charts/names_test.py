"""Names beside points: none hides a point, another name, or leaves the axes."""

import itertools

from absl.testing import absltest

from eval.charts import names
from robust_tfds.charts import style


def _drawn(points, texts, others=()):
  fig = style.figure(4, 3)
  ax = style.axes(fig, 1, 1)[0, 0]
  ax.plot(*zip(*points), "o")
  ax.margins(0.2)
  names.place(ax, points, texts, ["black"] * len(points), others)
  fig.draw_without_rendering()
  shown = [t for t in ax.texts if t.get_text()]
  return ax, shown, [n.get_window_extent() for n in shown]


class PlaceTest(absltest.TestCase):
  def test_names_do_not_overlap(self):
    points = [(0.0, 0.0), (0.01, 0.01), (0.5, 0.0), (0.51, 0.0), (1.0, 1.0)]
    ax, names, boxes = _drawn(points, [f"network {i}" for i in range(5)])
    self.assertLen(names, 5)
    for one, other in itertools.combinations(boxes, 2):
      self.assertFalse(one.overlaps(other))
    frame = ax.get_window_extent()
    for box in boxes:
      for point in points:
        self.assertFalse(box.contains(*ax.transData.transform(point)))
      self.assertTrue(frame.x0 <= box.x0 and box.x1 <= frame.x1)

  def test_further_points_stay_free(self):
    others = [(0.5, y / 20) for y in range(21)]
    ax, _, (box,) = _drawn([(0.5, 0.5), (0.0, 0.0)], ["name", ""], others)
    for point in others:
      self.assertFalse(box.contains(*ax.transData.transform(point)))

  def test_an_empty_name_is_not_written(self):
    _, names, _ = _drawn([(0.0, 0.0), (1.0, 1.0)], ["", "b"])
    self.assertEqual([n.get_text() for n in names], ["b"])
