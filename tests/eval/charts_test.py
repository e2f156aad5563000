"""Charts of evaluations: what is drawn where, what names and labels cover."""

import itertools
import math

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
  reliability,
  scatter,
  spans,
)
from eval.metrics import calibration
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
  def test_bars_stand_around_their_tick(self):
    ax = _plain_bars([1, 2], [3, math.nan])
    self.assertEqual([p.get_height() for p in ax.patches], [1, 2, 3])
    middles = [p.get_x() + p.get_width() / 2 for p in ax.patches]
    np.testing.assert_allclose(middles, [-0.2, 0.8, 0.2])
    ticks = [t.get_text() for t in ax.get_xticklabels()]
    self.assertEqual(ticks, ["a", "b"])

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

  def test_names_heads_and_numbers(self):
    looks = {"heads": ("noise", "noise", "blur"), "slant": True}
    ax = _plain_bars([1, 2, 3], labels=("a", "b", "c"), numbers=True, **looks)
    self.assertEqual(ax.get_xticklabels()[0].get_rotation(), 40)
    texts = {t.get_text(): t.get_position()[0] for t in ax.texts}
    self.assertEqual((texts["noise"], texts["blur"]), (0.5, 2.0))
    self.assertContainsSubset(("1", "2", "3"), texts)


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

  def test_places_without_a_map_are_empty(self):
    drawn = heat_map.Map(np.eye(2), "a", y="true", x="predicted")
    fig = heat_map.draw([[drawn, drawn], [drawn]], (4, 3), "share", most=1)
    seen = [ax.get_visible() for ax in fig.axes]
    self.assertEqual(seen, [True, True, True, False, True])
    self.assertEmpty(fig.axes[0].texts)


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
  def test_lines_may_differ_in_length(self):
    long = [pictures.Picture(_GREY, "1"), pictures.Picture(None, "2")]
    short = [pictures.Picture(_GREY, caption="below")]
    lines = [pictures.Line(long, "fog"), pictures.Line(short, head="wrong")]
    (ax,) = pictures.draw(lines, 1).axes  # one: quick to lay out and to draw
    self.assertEqual(_texts(ax), ["fog", "1", "2", "wrong", "below"])
    middles = [np.reshape(i.get_extent(), (2, 2)).mean(1) for i in ax.images]
    np.testing.assert_allclose(middles, [[0.5, 0.5], [0.5, 1.75]])
    left, right, bottom, top = ax.images[0].get_extent()
    self.assertAlmostEqual((right - left) / (bottom - top), 6 / 4)

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

  def test_frames_have_the_first_and_the_last(self):
    self.assertEqual(pictures.frames(np.zeros((9, 1)), 3), [0, 4, 8])
    self.assertEqual(pictures.frames(np.zeros((2, 1)), 3), [0, 0, 1])


class ReliabilityTest(absltest.TestCase):
  def test_a_row_of_diagrams_per_model(self):
    score = np.linspace(0.2, 0.9, 40)
    bins = calibration.reliability(score, score > 0.5)
    panel = reliability.Panel("clean", bins)
    rows = ("a", 0, [panel, panel]), ("b", 1, [panel])
    fig = reliability.draw([reliability.Line(*row) for row in rows])
    self.assertEqual([a.get_visible() for a in fig.axes[4:6]], [True, False])
    top, bottom = fig.axes[0], fig.axes[2]
    self.assertIn("clean\nECE", top.get_title(loc="left"))
    self.assertEqual(top.get_ylabel(), "a\naccuracy (%)")
    self.assertEqual(sum(p.get_height() for p in bottom.patches), 40)
    self.assertLen(top.patches, sum(n > 0 for n in bins.count))


def _scatter(*points, **panel):
  frame = Frame(4, 3, legend=INSIDE)
  return scatter.draw([scatter.Panel(points, **panel)], frame).axes[0]


class ScatterTest(absltest.TestCase):
  def test_points_of_the_same_looks_are_named_once(self):
    points = [scatter.Point(Value(i), Value(i), label="a") for i in range(3)]
    other = scatter.Point(Value(5), Value(6), 1, "b", hollow=True)
    ax = _scatter(*points, other)
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    self.assertEqual(texts, ["a", "b"])
    one, two = ax.collections
    self.assertLen(one.get_offsets(), 3)
    np.testing.assert_array_equal(two.get_facecolor()[0][:3], [1, 1, 1])

  def test_whiskers(self):
    ax = _scatter(scatter.Point(Value(1, 0, 2), Value(5, 4, 7)))
    ends = [c.get_segments()[0].tolist() for c in ax.collections[:2]]
    self.assertEqual(ends, [[[0, 5], [2, 5]], [[1, 4], [1, 7]]])

  def test_names_beside_and_placed(self):
    points = [
      scatter.Point(Value(i), Value(0), name=f"net {i}", joins="all")
      for i in range(3)
    ]
    for naming in (scatter.BESIDE, scatter.PLACED):
      ax = _scatter(*points, naming=naming)
      self.assertEqual(_texts(ax), ["net 0", "net 1", "net 2"])
      (joined,) = ax.lines
      np.testing.assert_array_equal(joined.get_xdata(), [0, 1, 2])

  def test_lines_and_their_bands(self):
    looks = {"color": "#444444"}
    line = scatter.Line([0, 1], [1, 2], "fit", looks, ([0, 1], [2, 3]))
    arrows = [((0, 0), (1, 1))]
    ax = _scatter(lines=[line], ends=((0, 1), (-1, 4)), arrows=arrows)
    self.assertLen(ax.lines, 1)
    self.assertLen(ax.collections, 1)
    self.assertEqual(ax.get_ylim(), (-1, 4))
    self.assertLen(ax.texts, 1)


class SpansTest(absltest.TestCase):
  def test_a_bar_joins_the_two_numbers_of_a_line(self):
    series = {"clean": [Value(5), Value(7)], "after": [Value(3), Value(1)]}
    (ax,) = spans.draw([spans.Panel(["cat", "dog"], series)], _FRAME).axes
    joined = [list(line.get_xdata()) for line in ax.lines[:2]]
    self.assertEqual(joined, [[5, 3], [7, 1]])
    ticks = [t.get_text() for t in ax.get_yticklabels()]
    self.assertEqual(ticks, ["cat", "dog"])

  def test_numbers_with_whiskers_have_heights_of_their_own(self):
    series = {str(i): [Value(5, 4, 6)] for i in range(3)}
    panel = spans.Panel(["cat"], series, joined=False)
    (ax,) = spans.draw([panel], _FRAME).axes
    heights = {float(line.get_ydata()[0]) for line in ax.lines}
    self.assertLen(heights, 3)
    self.assertLen(ax.collections, 3)
