"""What lines say of themselves."""

from absl.testing import absltest

from eval.cells.number import Number
from eval.compare.pairs.lines import Line
from robust_tfds.conditions import Condition


class LinesTest(absltest.TestCase):
  def test_of_benchmark(self):
    one = Number(0.1)
    self.assertIsNone(one.interval)
    self.assertTrue(Line("mce", "", None, None, 1, 2, one).of_benchmark)
    self.assertFalse(Line("ce", "fog", None, None, 1, 2, one).of_benchmark)
    cell = Line("error", "", 0, Condition(), 1, 2, one)
    self.assertFalse(cell.of_benchmark)
