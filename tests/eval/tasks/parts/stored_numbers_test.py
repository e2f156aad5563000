"""Numbers as a cell's columns and back."""

from absl.testing import absltest

from eval.cells.files import predictions
from eval.tasks.headlines import stored_numbers


class StoredNumbersTest(absltest.TestCase):
  def test_there_and_back(self):
    numbers = {"bbox/AP50": 1 / 3, "bbox/AP": 0.1, "segm/AP": -1.0}
    columns = predictions.sort(stored_numbers.columns(numbers))
    self.assertTrue(stored_numbers.is_one(columns))
    self.assertEqual(stored_numbers.numbers(columns), numbers)
    self.assertEqual(list(stored_numbers.numbers(columns))[0], "bbox/AP")
