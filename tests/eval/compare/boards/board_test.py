"""Boards as plain data: what entries and boards say of themselves."""

from absl.testing import absltest

from eval.cells.number import Number
from eval.compare.boards import board


class EntryTest(absltest.TestCase):
  def test_numbers_by_name(self):
    numbers = {
      ("mce", "", None): Number(0.5),
      ("mfr", "", 1): Number(0.6),
      ("mfr", "", 2): Number(0.7),
    }
    entry = board.Entry("k", "l", "m", numbers=numbers)
    self.assertEqual(entry.number("mce").value, 0.5)
    self.assertEqual(entry.number("mfr").value, 0.6)
    self.assertEqual(entry.number("mfr", level=2).value, 0.7)
    self.assertIsNone(entry.number("ce", "fog"))

  def test_missing_facts(self):
    data, by = {"codec": None, "n": 1}, {"weights": None, "dtype": ""}
    entry = board.Entry("k", "l", "m", data=data, model_facts=by)
    self.assertEqual(entry.missing, ["codec", "weights"])
