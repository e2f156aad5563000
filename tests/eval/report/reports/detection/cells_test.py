"""Cells of detection as Markdown."""

from absl.testing import absltest

from eval.report.reports.detection import cells
from eval.tables import numbers as numbers_lib
from eval.tables import pivot
from tests.eval.report.reports import contexts


class CellsTest(absltest.TestCase):
  def test_a_table_a_kind_of_ap(self):
    context = contexts.of_task("detection", names=("fog",), models=("ours",))
    text = cells.Cells().text(context)
    self.assertIn("## ours, bbox/AP50", text)
    self.assertNotIn("bbox/APs", text)
    clean = pivot.value(context, "ours", config="clean", metric="bbox/AP")
    self.assertIn(f"Clean: {numbers_lib.percent(clean)}", text)
