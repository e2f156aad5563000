"""Exact binomial intervals and the bootstrap."""

import numpy as np
from absl.testing import absltest, parameterized
from scipy import stats

from robust_tfds.eval.metrics import intervals


class ClopperPearsonTest(parameterized.TestCase):
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

  @parameterized.parameters(
    (5, 4, 0.95, "More successes than trials"),
    (-1, 4, 0.95, "must not be negative"),
    (1.5, 4, 0.95, "whole numbers"),
    (float("nan"), 4, 0.95, "whole numbers"),
    (1, 4, 1.0, "level must lie"),
  )
  def test_refusals(self, k, n, level, message):
    with self.assertRaisesRegex(ValueError, message):
      intervals.clopper_pearson(k, n, level)


class BootstrapTest(absltest.TestCase):
  def test_same_generator_same_interval_around_the_mean(self):
    values = np.random.default_rng(1).normal(3, 1, 400)
    one = intervals.bootstrap(values, np.random.default_rng(0))
    two = intervals.bootstrap(values, np.random.default_rng(0))
    self.assertEqual(one, two)
    self.assertBetween(values.mean(), *one)
    self.assertAlmostEqual(one[1] - one[0], 2 * 1.96 / 20, delta=0.05)

  def test_other_statistics_see_whole_rows(self):
    rows = np.tile([[1.0, 2.0]], (10, 1))
    got = intervals.bootstrap(
      rows, np.random.default_rng(0), statistic=lambda r: r[:, 1].max()
    )
    self.assertEqual(got, (2.0, 2.0))

  def test_no_rows(self):
    with self.assertRaisesRegex(ValueError, "at least one row"):
      intervals.bootstrap([], np.random.default_rng(0))


if __name__ == "__main__":
  absltest.main()
