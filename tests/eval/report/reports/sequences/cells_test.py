"""Cells of sequences as Markdown."""

from absl.testing import absltest

from eval.report.reports.sequences import cells
from tests.eval.report.reports import contexts


class CellsTest(absltest.TestCase):
  def test_a_line_a_difficulty(self):
    context = contexts.of_task("sequences", names=("tilt",), models=("ours",))
    text = cells.Cells().text(context)
    self.assertIn(
      "Difficulty | FP (%) | FR (%) | uT5D | T5D (%) | Zipf | n |", text
    )
    lines = [x for x in text.splitlines() if x.startswith("| tilt")]
    self.assertLen(lines, 3)
    self.assertStartsWith(lines[2], "| tilt | 3 | ")
    self.assertEndsWith(lines[2], " | 40 |")
