"""Bars and intervals in figures."""

import numpy as np

from eval.cells import table
from robust_tfds.charts import style
from tests import in_folder


class StyleTest(in_folder.TestCase):
  def test_whiskers(self):
    row = table.Row("m", "d", "", "", None, "error", 0.5, 0.4, 0.7)
    got = style.whiskers([style.scaled(row), style.Value(3)])
    np.testing.assert_allclose(got, [[10, 0], [20, 0]])
    self.assertIsNone(style.whiskers([style.Value(1)]))

  def test_a_complement_turns_the_interval_round(self):
    got = style.scaled(style.Value(0.5, 0.4, 0.75), -100, 100)
    self.assertEqual(got, style.Value(50, 25, 60))
    self.assertIsNone(style.scaled(style.Value(1)).lo)

  def test_a_dollar_is_no_mathematics(self):
    figure = style.figure(2, 2)
    axes = style.axes(figure, 1, 1)[0, 0]
    axes.set_yticks([0], ["$\\frac{"])
    axes.plot([0], [0], label="$\\frac{")
    axes.legend()
    png, svg = style.save(figure, self.root, "a", ["$\\frac{"])
    self.assertTrue(png.exists() and svg.exists())

  def test_a_long_caption_stays_inside(self):
    figure = style.figure(4, 2)
    style.axes(figure, 1, 1)
    style.save(figure, self.root, "a", ["words of a caption"] * 30)
    (caption,) = [t for t in figure.texts if "caption" in t.get_text()]
    box, page = caption.get_window_extent(), figure.bbox
    self.assertLessEqual(box.x1, page.x1)
    self.assertGreaterEqual(box.y0, page.y0)

  def test_a_figure_is_drawn_once_a_file(self):
    figure, drawn = style.figure(2, 2), []
    axes = style.axes(figure, 1, 1)[0, 0]
    axes.draw = lambda renderer: drawn.append(renderer)
    style.save(figure, self.root, "a", [])
    self.assertLen(drawn, 2)

  def test_colours_begin_again(self):
    self.assertEqual(style.colour(len(style.COLOURS)), style.colour(0))
    self.assertEqual(style.marker(len(style.MARKERS)), style.marker(0))
    self.assertEqual(style.hatch(len(style.HATCHES)), style.hatch(0))
