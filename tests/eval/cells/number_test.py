"""Numbers with intervals."""

import math

from absl.testing import absltest

from eval.cells.number import Number


class NumberTest(absltest.TestCase):
  def test_nan_is_no_value(self):
    number = Number.of(math.nan, 0.1)
    self.assertEqual(number, Number(None, 0.1))
    self.assertTrue(math.isnan(number.or_nan))
    self.assertEqual(Number(0.5).or_nan, 0.5)

  def test_an_interval_has_two_finite_ends(self):
    self.assertEqual(Number(0.5, 0.0, 1.0).interval, (0.0, 1.0))
    for ends in ((), (0.1,), (None, 0.2), (-math.inf, 0.2), (0.1, math.inf)):
      self.assertIsNone(Number(0.5, *ends).interval, ends)
