"""Text that a spreadsheet takes for a formula is marked, and reads back."""

from absl.testing import parameterized

from eval.cells import formulas


class FormulasTest(parameterized.TestCase):
  @parameterized.parameters(
    "=cmd|' /C calc'!A0", "+1", "-x", "@a", "\tb", "\rc"
  )
  def test_a_formula_is_marked(self, text):
    self.assertEqual(formulas.neutral(text), f"'{text}")

  @parameterized.parameters("resnet50", "a=b", "'tis", "", "'", " =x", "0")
  def test_other_text_stays(self, text):
    self.assertEqual(formulas.neutral(text), text)

  @parameterized.parameters("=x", "'=x", "''=x", "'tis", "x", "", "'", "-")
  def test_reads_back(self, text):
    self.assertEqual(formulas.plain(formulas.neutral(text)), text)
