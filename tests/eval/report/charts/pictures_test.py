"""Grids of pictures: lines of any length, names, captions, frames."""

import numpy as np
from absl.testing import absltest

from robust_tfds.eval.report.charts import pictures

_GREY = np.full((4, 6, 3), 128, np.uint8)


class PicturesTest(absltest.TestCase):
  def test_lines_may_differ_in_length(self):
    long = [pictures.Picture(_GREY, "1"), pictures.Picture(None, "2")]
    short = [pictures.Picture(_GREY, caption="below")]
    lines = [pictures.Line(long, "fog"), pictures.Line(short, head="wrong")]
    axes = pictures.draw(lines, 1).axes
    self.assertEqual([a.get_visible() for a in axes], [True] * 3 + [False])
    self.assertEqual([len(a.images) for a in axes], [1, 0, 1, 0])
    self.assertEqual(axes[0].get_ylabel(), "fog")
    self.assertEqual(axes[1].get_title(), "2")
    self.assertEqual(axes[2].get_title(loc="left"), "wrong")
    self.assertEqual(axes[2].get_xlabel(), "below")

  def test_frames_have_the_first_and_the_last(self):
    self.assertEqual(pictures.frames(np.zeros((9, 1)), 3), [0, 4, 8])
    self.assertEqual(pictures.frames(np.zeros((2, 1)), 3), [0, 0, 1])
