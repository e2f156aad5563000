"""CSV and Markdown of figures: every number, safe text."""

import math
import pathlib

from absl.testing import absltest

from eval.report.figures.parts import sheet

_COLUMNS = ("model", sheet.Column("error"), "source")


class SheetTest(absltest.TestCase):
  def write(self, *lines, columns=_COLUMNS):
    folder = pathlib.Path(self.create_tempdir().full_path)
    table = sheet.Sheet(columns, lines, "From a|b.")
    text = table.write_markdown(folder, "x", "Title_1")
    numbers = table.write_csv(folder, "x")
    return text.read_text("utf-8"), numbers.read_text("utf-8")

  def test_the_csv_has_fractions_and_the_table_percent(self):
    text, numbers = self.write(["a_b", 0.12345, "printed"])
    self.assertEqual(numbers, "model,error,source\na_b,0.12345,printed\n")
    self.assertIn("| a\\_b | 12.3 | printed |", text)
    self.assertIn("# Title\\_1\n", text)
    self.assertIn("From a\\|b.", text)

  def test_numbers_that_are_no_rates(self):
    columns = ("model", sheet.Column("frames", 0, percent=False))
    text, _ = self.write(["a", 20665.0], columns=columns)
    self.assertIn("| a | 20665 |", text)

  def test_absent_numbers(self):
    text, numbers = self.write(["a", None, "x"], ["b", math.nan, "x"])
    self.assertEqual(numbers, "model,error,source\na,,x\nb,,x\n")
    self.assertIn("| a | - | x |", text)

  def test_text_is_no_formula_and_no_html(self):
    text, numbers = self.write(["=1+1<b>", 0.5, "x"])
    self.assertIn("\n'=1+1<b>,", numbers)
    self.assertNotIn("<b>", text)

  def test_whole_numbers_stay_whole(self):
    columns = ("model", "frames", "source")
    text, numbers = self.write(["a", 1109, "x"], columns=columns)
    self.assertIn("a,1109,x", numbers)
    self.assertIn("| a | 1109 | x |", text)
