"""Severity curves: every point at its place."""

from absl.testing import absltest

from eval.cells.number import Number
from eval.report.pages import curves
from eval.report.pages import view as view_lib
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.html_pages import axes as axes_lib
from tests.eval.report.pages import boards


def _drawn(board, place=0) -> list[axes_lib.Group]:
  return curves.by_severity(view_lib.View(board), board.entries[place])


def _paths(groups, class_) -> list[str]:
  """The paths of a class that are not empty."""
  pictures = [picture for group in groups for picture in group.pictures]
  return [d for p in pictures for c, d, _ in p.paths if c == class_ and d]


class CurvesTest(absltest.TestCase):
  def test_a_curve_a_corruption_in_groups(self):
    axes, *groups = _drawn(boards.classification(4))
    self.assertEqual([d.name for d in axes.drawings], ["grid"])
    self.assertEqual(
      [group.title for group in groups],
      ["Noise", "Blur", "Weather", "Digital", "Extra"],
    )
    for class_ in "bml":
      paths = _paths(groups, class_)
      self.assertLen(paths, len(conditions.PICTURES.names()), class_)

  def test_no_interval_no_band(self):
    cells = {
      Condition("fog", level): {"error": Number(level / 10)} for level in (1, 2)
    }
    groups = _drawn(boards.one(cells=cells))
    self.assertEmpty(_paths(groups, "b"))
    self.assertNotEmpty(_paths(groups, "l"))

  def test_one_entry_has_no_median(self):
    self.assertEmpty(_paths(_drawn(boards.classification(1)), "m"))

  def test_nothing_to_draw(self):
    self.assertEmpty(_drawn(boards.frames()))
    self.assertEmpty(_drawn(boards.classification(0, printed=1)))

  def test_series_of_frames(self):
    board = boards.frames()
    (group,) = curves.series(view_lib.View(board), board.entries[0])
    names = [picture.name for picture in group.pictures]
    self.assertEqual(
      names,
      ["pm-10 by k", "Conditional accuracy by distance", "Error by offset"],
    )
    self.assertLen({drawing.name for drawing in group.drawings}, 3)
