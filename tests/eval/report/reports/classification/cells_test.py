"""Cells of classification as Markdown."""

from absl.testing import absltest

from eval.report.reports.classification import cells
from eval.tables import numbers as numbers_lib
from eval.tables import pivot
from tests.eval.report.reports import contexts


class CellsTest(absltest.TestCase):
  def test_every_cell_with_its_interval(self):
    context = contexts.of_task("classification", names=("fog",))
    row = pivot.row(context, "ours", metric="error", config="fog_3")
    numbers = [numbers_lib.percent(n) for n in (row.value, row.lo, row.hi)]
    text = cells.Cells().text(context)
    self.assertIn(f"{numbers[0]} ({numbers[1]}–{numbers[2]})", text)
    self.assertIn("| Corruption | 1 | 2 | 3 | 4 | 5 |", text)
    self.assertIn(", n = 100", text)
