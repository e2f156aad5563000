"""Exact binomial intervals."""

import numpy as np
from absl.testing import absltest
from scipy import stats

from eval.metrics import intervals


class ClopperPearsonTest(absltest.TestCase):
  def test_equals_scipys_exact_interval(self):
    for k, n in ((0, 7), (3, 7), (7, 7), (166, 242), (1, 50000)):
      want = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
      lo, hi = intervals.clopper_pearson(k, n)
      np.testing.assert_allclose((lo, hi), want, atol=1e-12)

  def test_arrays_and_no_trials(self):
    lo, hi = intervals.clopper_pearson([0, 5, 10], [[10], [20]])
    self.assertEqual((lo.shape, hi.shape), ((2, 3), (2, 3)))
    self.assertTrue((lo <= hi).all())
    self.assertEqual(intervals.clopper_pearson(0, 0), (0.0, 1.0))

  def test_covers_at_least_as_often_as_it_says(self):
    k = np.random.default_rng(0).binomial(40, 0.2, 4000)
    lo, hi = intervals.clopper_pearson(k, 40)
    self.assertGreaterEqual(((lo <= 0.2) & (0.2 <= hi)).mean(), 0.95)
