"""Runs over a figure's data set, where there are some."""

from absl.testing import absltest

from eval.report import figures
from eval.report.figures import base
from eval.report.figures.parts import own, severity_curves
from tests.eval.report.figures import boards

_PAPER = "Schiappa et al., Figure 9"


class SeverityCurvesTest(absltest.TestCase):
  def test_figures_take_theirs(self):
    digits = boards.board("video")
    ucf = boards.board("video", dataset="ucf101_p")
    request = base.Request(boards=[digits, ucf])
    (sixteen,) = figures.select("schiappa_f16")
    (seventeen,) = figures.select("schiappa_f17")
    self.assertEqual(sixteen.boards(request), [ucf])
    self.assertEqual(seventeen.boards(request), [digits, ucf])

  def test_titles_name_the_figure_and_other_data(self):
    heading = severity_curves.heading
    models = own.from_boards([boards.board("video")])
    self.assertEqual(heading("Figure 9", models, "digits_c"), _PAPER)
    self.assertEqual(
      heading("Figure 9", models, "ucf101_p"),
      f"{_PAPER}; here of the own data set `digits_c`",
    )
