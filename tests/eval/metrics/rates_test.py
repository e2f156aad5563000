"""Intervals of rates: exact where examples stand alone, wider where they do not."""

import numpy as np
from absl.testing import parameterized

from eval.metrics import intervals, rates, resampling


class IntervalTest(parameterized.TestCase):
  def test_of_single_examples_is_exact(self):
    hits = np.arange(40) % 3 == 0
    ids = [f"{i:02d}" for i in range(40)]
    got = rates.interval(hits, ids, 0.9)
    self.assertEqual(got, intervals.clopper_pearson(14, 40, 0.9))

  def test_copies_of_examples_say_nothing_more(self):
    hits = np.arange(40) % 3 == 0
    ids = np.array([f"{i:02d}" for i in range(40)])
    lo, hi = rates.interval(np.repeat(hits, 9), np.repeat(ids, 9))
    alone = intervals.clopper_pearson(14, 40)
    np.testing.assert_allclose((lo, hi), alone, atol=0.03)

  @parameterized.parameters(True, False)
  def test_all_alike_counts_groups(self, right):
    ids = np.repeat([f"{i:02d}" for i in range(8)], 5)
    got = rates.interval(np.full(40, right), ids)
    self.assertEqual(got, intervals.clopper_pearson(8 * right, 8))

  def test_several_shares_of_one_draw(self):
    ids = np.repeat([f"{i:02d}" for i in range(20)], 2)
    hits = np.arange(40) % 3 == 0
    both = resampling.Totals.from_values(np.stack([hits, ~hits], axis=1), ids)
    few = resampling.Totals.from_values(hits[:4], ids[:4])
    (value, lo, hi), other, (_, *none) = rates.shares([both, few])
    self.assertEqual((lo, hi), rates.interval(hits, ids))
    np.testing.assert_allclose(other, (1 - value, 1 - hi, 1 - lo), atol=0.02)
    self.assertTrue(np.isnan(none).all())  # one draw in eight has neither

  def test_refusals(self):
    with self.assertRaisesRegex(ValueError, "must be bool"):
      rates.interval([0.5], ["a"])
    with self.assertRaisesRegex(ValueError, "do not go together"):
      rates.interval([True, False], ["a", "b", "b"])
