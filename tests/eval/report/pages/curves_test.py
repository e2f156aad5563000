"""Severity curves: every point at its place."""

import re

from absl.testing import absltest

from robust_tfds import conditions
from robust_tfds.eval.site import curves
from robust_tfds.eval.site import view as view_lib
from tests.eval.site import boards, html_check


def _drawn(board, place=0) -> str:
  return curves.by_severity(view_lib.View(board), board.entries[place])


class CurvesTest(absltest.TestCase):
  def test_a_curve_a_corruption_in_groups(self):
    text = _drawn(boards.classification(4))
    page = html_check.Page(text)
    self.assertEmpty(page.faults)
    self.assertEqual(text.count("<figure>"), len(conditions.PICTURES.names()))
    titles = re.findall(r"<h3>(\w+)</h3>", text)
    self.assertEqual(titles, ["Noise", "Blur", "Weather", "Digital", "Extra"])
    for class_ in ("b", "m", "l"):
      self.assertEqual(text.count(f"<path class={class_} "), 19, class_)

  def test_points_lie_where_their_values_are(self):
    axes = curves.Axes([0, 1, 2, 3, 4, 5], 100.0)
    self.assertEqual(axes.at(0, 0), (32.0, 98.0))
    self.assertEqual(axes.at(5, 100), (168.0, 8.0))
    self.assertEqual(axes.at(2.5, 50), (100.0, 53.0))

  def test_no_interval_no_band(self):
    text = _drawn(boards.detection())
    self.assertNotIn("<path class=b ", text)
    self.assertIn("<path class=l ", text)

  def test_one_entry_has_no_median(self):
    text = _drawn(boards.classification(1))
    self.assertNotIn("<path class=m ", text)

  def test_nothing_to_draw(self):
    self.assertEqual(_drawn(boards.frames()), "")
    self.assertEqual(_drawn(boards.classification(0, printed=1)), "")

  def test_series_of_frames(self):
    board = boards.frames()
    text = curves.series(view_lib.View(board), board.entries[0])
    page = html_check.Page(text)
    self.assertEmpty(page.faults)
    captions = re.findall(r"<figcaption>([^<]*)", text)
    self.assertEqual(captions, ["pm-10 by k", "Error by offset"])


if __name__ == "__main__":
  absltest.main()
