"""Grids of pictures: lines of any length, names, captions, frames."""

import numpy as np
from absl.testing import absltest

from eval.charts import pictures

_GREY = np.full((4, 6, 3), 128, np.uint8)


class PicturesTest(absltest.TestCase):
  def test_lines_may_differ_in_length(self):
    long = [pictures.Picture(_GREY, "1"), pictures.Picture(None, "2")]
    short = [pictures.Picture(_GREY, caption="below")]
    lines = [pictures.Line(long, "fog"), pictures.Line(short, head="wrong")]
    (axes,) = pictures.draw(lines, 1).axes  # one: quick to lay out and to draw
    words = [t.get_text() for t in axes.texts if t.get_text()]
    self.assertEqual(words, ["fog", "1", "2", "wrong", "below"])
    middles = [np.reshape(i.get_extent(), (2, 2)).mean(1) for i in axes.images]
    np.testing.assert_allclose(middles, [[0.5, 0.5], [0.5, 1.75]])
    left, right, bottom, top = axes.images[0].get_extent()
    self.assertAlmostEqual((right - left) / (bottom - top), 6 / 4)

  def test_frames_have_the_first_and_the_last(self):
    self.assertEqual(pictures.frames(np.zeros((9, 1)), 3), [0, 4, 8])
    self.assertEqual(pictures.frames(np.zeros((2, 1)), 3), [0, 0, 1])
