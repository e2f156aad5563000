"""Charts of evaluations: what is drawn where, what names and labels cover."""

import itertools

import numpy as np
from absl.testing import absltest, parameterized
from matplotlib.text import Text

from eval.cells.files.overlay import Overlay
from eval.charts import (
  bars,
  box_labels,
  heat_map,
  names,
  pictures,
  scatter,
)
from robust_tfds.charts import style
from robust_tfds.charts.frame import INSIDE, Frame
from robust_tfds.charts.style import Value

_FRAME = Frame(4, 3)
_VIEW = (10.0, 20.0, 110.0, 90.0)
_GREY = np.full((4, 6, 3), 128, np.uint8)


def _texts(ax) -> list[str]:
  return [t.get_text() for t in ax.texts if t.get_text()]


def _bars(*series, labels=("a", "b"), **groups):
  listed = [bars.Series(f"series {i}", v) for i, v in enumerate(series)]
  drawn = bars.Groups(labels, **groups)
  return bars.draw([bars.Panel(listed)], drawn, _FRAME).axes[0]


def _plain_bars(*heights, **groups):
  return _bars(*([Value(h) for h in listed] for listed in heights), **groups)


class BarsTest(absltest.TestCase):
  def test_series_differ_by_more_than_colour(self):
    first = _plain_bars(*([i, i] for i in range(8))).patches[::2]
    self.assertLen({p.get_hatch() for p in first}, 8)
    self.assertLen({p.get_facecolor() for p in first}, 8)

  def test_whiskers_are_the_ends(self):
    (lines,) = _bars([Value(5, 4, 8), Value(7)]).collections
    segments = [s[:, 1].tolist() for s in lines.get_segments()]
    self.assertEqual(segments, [[4, 8], [7, 7]])

  def test_one_interval_flattens_no_other_bar(self):
    ax = _bars([Value(90, 60, 120), Value(110, 20, 1700)])
    self.assertEqual(ax.get_ylim()[1], 220)
    self.assertEqual(_texts(ax), ["↑1,700"])
    self.assertEmpty(_plain_bars([90, 110]).texts)


def _overlap(one, two) -> bool:
  width = min(one[2], two[2]) - max(one[0], two[0])
  height = min(one[3], two[3]) - max(one[1], two[1])
  return width > 1e-9 and height > 1e-9


class BoxLabelsTest(parameterized.TestCase):
  @parameterized.parameters(
    ([(10, 20, 110, 90)] * 6,),
    ([(10, 20, 20, 30), (105, 85, 110, 90), (-50, 0, 300, 300)],),
    ([(40, 40, 60, 60), (41, 41, 59, 61), (42, 39, 61, 60)],),
  )
  def test_labels_lie_inside_and_do_not_overlap(self, boxes):
    places = box_labels.place(boxes, [(40, 8)] * len(boxes), _VIEW)
    for x1, y1, x2, y2 in places:
      self.assertTrue(_VIEW[0] <= x1 <= x2 <= _VIEW[2])
      self.assertTrue(_VIEW[1] <= y1 <= y2 <= _VIEW[3])
    for one, two in itertools.combinations(places, 2):
      self.assertFalse(_overlap(one, two), (one, two))

  def test_a_label_is_above_its_box_if_there_is_room(self):
    (place,) = box_labels.place([(30, 50, 60, 80)], [(20, 8)], _VIEW)
    self.assertEqual(place, (30, 42, 50, 50))

  def test_a_label_longer_than_the_picture_begins_at_its_left(self):
    ((x1, *_),) = box_labels.place([(30, 50, 60, 80)], [(500, 8)], _VIEW)
    self.assertEqual(x1, _VIEW[0])

  def test_more_labels_than_room(self):
    self.assertLen(box_labels.place([_VIEW] * 40, [(60, 20)] * 40, _VIEW), 40)


class HeatMapTest(absltest.TestCase):
  def test_numbers_are_light_on_dark_cells(self):
    values = np.array([[10, 90], [np.nan, 50]], float)
    drawn = heat_map.Map(values, "errors", ["a", "b"], ["fog", "snow"])
    fig = heat_map.draw([[drawn]], (4, 3), "%", most=100, digits=0)
    ax = fig.axes[0]
    colours = {t.get_text(): t.get_color() for t in ax.texts}
    self.assertEqual(colours, {"10": "white", "90": "black", "50": "white"})
    ticks = [t.get_text() for t in ax.get_xticklabels()]
    self.assertEqual(ticks, ["fog", "snow"])

  def test_a_title_is_whole_on_a_narrow_map(self):
    title = "Mean top-1 error over severities (%); extra ones on the right"
    for columns in (1, 19):
      looks = ["model_one", "b"], ["gaussian noise"] * columns
      drawn = heat_map.Map(np.full((2, columns), 0.5), title, *looks)
      size = 2.5 + 0.5 * columns, 3
      fig = heat_map.draw([[drawn]], size, "%", most=1)
      fig.draw_without_rendering()
      (text,) = [t for t in fig.findobj(Text) if "Mean" in t.get_text()]
      self.assertLess(text.get_window_extent().x1, fig.bbox.x1)
      self.assertEqual(" ".join(text.get_text().split()), title)


class NamesTest(absltest.TestCase):
  def _place(self, points, texts, obstacles=()):
    fig = style.figure(4, 3)
    ax = style.axes(fig, 1, 1)[0, 0]
    ax.plot(*zip(*points), "o")
    ax.margins(0.2)
    names.place(ax, points, texts, ["black"] * len(points), obstacles)
    fig.draw_without_rendering()
    return ax, {t.get_text(): Text.get_window_extent(t) for t in ax.texts}

  def test_names_cover_neither_points_nor_names_and_stay_inside(self):
    points = [(0.0, 0.0), (0.01, 0.01), (0.5, 0.0), (0.51, 0.0), (1.0, 1.0)]
    ax, boxes = self._place(points, [f"network {i}" for i in range(5)])
    self.assertLen(boxes, 5)
    for one, other in itertools.combinations(boxes.values(), 2):
      self.assertFalse(one.overlaps(other))
    frame = ax.get_window_extent()
    for box in boxes.values():
      for point in points:
        self.assertFalse(box.contains(*ax.transData.transform(point)))
      self.assertTrue(frame.x0 <= box.x0 and box.x1 <= frame.x1)

  def test_obstacles_stay_free_and_empty_names_are_not_written(self):
    obstacles = [(0.5, y / 20) for y in range(21)]
    points = [(0.5, 0.5), (0.0, 0.0)]
    ax, boxes = self._place(points, ["name", ""], obstacles)
    self.assertEqual([*boxes], ["name"])
    for point in obstacles:
      self.assertFalse(boxes["name"].contains(*ax.transData.transform(point)))


class PicturesTest(absltest.TestCase):
  def test_boxes_and_masks_are_drawn_where_they_lie_in_the_view(self):
    mask = np.ones((1, 2), bool)
    box = Overlay("hit", (2.0, 1.0, 4.0, 2.0), "cat", mask, (2, 1))
    shown = pictures.Picture(_GREY, boxes=[box], view=(2.0, 0.0, 6.0, 4.0))
    fig = pictures.draw([pictures.Line([shown])], 1)
    (ax,) = fig.axes
    self.assertEqual(_texts(ax), ["H cat"])
    whole, veil = (np.array(image.get_extent()) for image in ax.images)
    # The view of 4 px is 0.93 inches wide and begins at the mask.
    np.testing.assert_allclose(whole[1] - whole[0], 0.93 / 4 * 6)
    np.testing.assert_allclose(veil[0], 0.5 - 0.93 / 2)
    fig.draw_without_rendering()
    seen = ax.images[0].get_clip_box().width
    outline = ax.patches[0].get_window_extent().width
    self.assertAlmostEqual(outline / seen, 0.5)


def _scatter(*points, **panel):
  frame = Frame(4, 3, legend=INSIDE)
  return scatter.draw([scatter.Panel(points, **panel)], frame).axes[0]


class ScatterTest(absltest.TestCase):
  def test_whiskers(self):
    ax = _scatter(scatter.Point(Value(1, 0, 2), Value(5, 4, 7)))
    ends = [c.get_segments()[0].tolist() for c in ax.collections[:2]]
    self.assertEqual(ends, [[[0, 5], [2, 5]], [[1, 4], [1, 7]]])
