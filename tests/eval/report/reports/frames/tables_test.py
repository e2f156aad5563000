"""Tables of natural perturbations."""

from absl.testing import absltest

from eval.report.reports.frames import tables
from eval.tables import breakdowns
from eval.tables import numbers as numbers_lib
from tests.eval.report.reports import contexts


class TablesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.context = contexts.of_task("frames")
    self.text = tables.Tables().text(self.context)

  def test_the_papers_models_stand_beside_ours(self):
    self.assertIn("| Model | pm-0 | pm-10 | Drop |", self.text)
    self.assertIn("| **ours** |", self.text)
    self.assertIn(
      "| c\\_d, printed | 50.0 [40.0, 60.0] | 40.0 [30.0, 50.0] | 10.0 |",
      self.text,
    )
    self.assertNotIn("| a |", self.text)  # of the testbed: in the figure

  def test_breakdowns_and_review(self):
    orig = breakdowns.row(self.context, "ours", "acc_orig/class=0")
    percent = numbers_lib.percent(orig.value)
    self.assertIn("## By class: ours", self.text)
    self.assertIn(f"| cat 0 | 20 | {percent} [", self.text)
    self.assertIn("| ours | all frames of all anchors |", self.text)

  def test_lines(self):
    self.assertIn(
      "| testbed's standard models | 9 | 0.900 [0.860, 0.950] |", self.text
    )
    self.assertIn("| this run | 9 |", self.text)
    self.assertNotIn("paper's table", self.text)
