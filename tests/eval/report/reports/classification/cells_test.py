"""Cells of classification as Markdown and on the page."""

from absl.testing import absltest

from robust_tfds.eval.report.reports.classification import cells
from robust_tfds.eval.report.tables import numbers as numbers_lib
from robust_tfds.eval.report.tables import pivot
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

  def test_table_of_the_page(self):
    context = contexts.of_task("classification", names=("fog", "zoom_blur"))
    (table,) = cells.Cells().tables(context)
    self.assertEqual(
      table.names,
      ["ours, fog", "ours, zoom blur", "base, fog", "base, zoom blur"],
    )
    self.assertEqual([c.heading for c in table.columns], [*"12345"])
    row = pivot.row(context, "base", metric="error", config="fog_3")
    self.assertEqual(table.columns[2].numbers[2], row.value)
