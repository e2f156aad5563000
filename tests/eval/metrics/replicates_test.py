"""Intervals from draws and from the jackknife; numbers made of numbers."""

import dataclasses

import numpy as np
from absl.testing import absltest
from scipy import optimize, stats

from eval.metrics import replicates, resampling


def _of_normal(n=60, seed=0):
  values = np.random.default_rng(seed).normal(3, 2, n)
  ids = np.array([f"{i:03d}" for i in range(n)])
  return values, resampling.Draws.from_groups(ids).means(values, ids)


class ReplicatesTest(absltest.TestCase):
  def test_jackknife_of_a_mean_is_students_interval(self):
    values, mean = _of_normal()
    want = stats.t.interval(0.95, 59, values.mean(), stats.sem(values))
    np.testing.assert_allclose(mean.jackknife_interval(), want)
    self.assertAlmostEqual(mean.standard_error, stats.sem(values))

  def test_interval_of_a_symmetric_mean_is_near_students(self):
    values, mean = _of_normal()
    want = stats.t.interval(0.95, 59, values.mean(), stats.sem(values))
    np.testing.assert_allclose(mean.interval(), want, atol=0.12)

  def test_levels_nest(self):
    _, mean = _of_normal()
    (lo, hi), (low, high) = mean.interval(0.5), mean.interval(0.99)
    self.assertTrue(low < lo < mean.value < hi < high)

  def test_the_outer_ends_of_two_intervals_by_hand(self):
    values = np.random.default_rng(2).exponential(size=(25, 3)) * [1, -1, 1]
    values[0, 2] = 30.0
    ids = np.array([f"{i:02d}" for i in range(25)])
    mean = resampling.Draws.from_groups(ids).means(values, ids)
    lo, hi = mean.interval(0.9)
    low, high = mean.jackknife_interval(0.9)
    t = stats.t.isf(0.05, 24)
    for i, se in enumerate(stats.sem(values, axis=0)):
      value, draws = mean.value[i], mean.draws[i]
      bias = stats.norm.ppf((draws < value).mean())
      above = draws - value
      a = stats.skew(values[:, i]) / (6 * 25**0.5) + bias
      a += above.mean() / (above**2).mean() ** 0.5

      def bent(x, y):
        return x + a * x**2 + a**2 * x**3 / 3 + bias - y

      far, near = (optimize.brentq(bent, -99, 99, (y,)) for y in (t, -t))
      self.assertAlmostEqual(lo[i], min(value - se * far, low[i]))
      self.assertAlmostEqual(hi[i], max(value - se * near, high[i]))
    self.assertEqual([lo[0] == low[0], hi[1] == high[1]], [True, True])
    self.assertGreater(hi[2], high[2] + 1)

  def test_percentiles_of_draws_can_be_in_it(self):
    _, mean = _of_normal()
    ends = np.quantile(mean.draws, (0.025, 0.975))
    self.assertEqual(mean.interval(percentiles=True), mean.interval())
    calm = dataclasses.replace(mean, jackknife=mean.value + 0 * mean.jackknife)
    np.testing.assert_allclose(calm.interval(percentiles=True), ends)

  def test_of_many_groups_it_is_the_bca_of_scipy(self):
    values = np.random.default_rng(6).exponential(size=2000)
    ids = np.array([f"{i:04d}" for i in range(2000)])
    mean = resampling.Draws.from_groups(ids, blocks=2000).means(values, ids)
    bca = stats.bootstrap((values,), np.mean, rng=0, method="BCa")
    lo, hi = mean.interval()
    np.testing.assert_allclose(
      (lo, hi), bca.confidence_interval, atol=0.05 * (hi - lo)
    )

  def test_draws_that_differ_in_the_last_digits_alone(self):
    for value in (0.2, -0.2, 1e6):
      draws = np.nextafter(np.full(99, value), [np.inf])
      number = replicates.Replicates(
        np.array(value), draws, np.full(9, value), 9
      )
      self.assertEqual(number.interval(), (value, value))

  def test_arrays_have_an_interval_each(self):
    values = np.random.default_rng(1).normal(size=(30, 2, 1))
    ids = np.array([f"{i:02d}" for i in range(30)])
    many = resampling.Draws.from_groups(ids).means(values[..., 0], ids)
    lo, hi = many.interval()
    self.assertEqual((lo.shape, hi.shape), ((2,), (2,)))
    one = (
      resampling.Draws.from_groups(ids).means(values[:, 1, 0], ids).interval()
    )
    np.testing.assert_allclose((lo[1], hi[1]), one)

  def test_functions_of_numbers(self):
    _, one = _of_normal()
    _, other = _of_normal(seed=1)
    less = replicates.combine(np.subtract, one, other)
    np.testing.assert_allclose(less.draws, one.draws - other.draws)
    np.testing.assert_allclose(less.jackknife, one.jackknife - other.jackknife)
    self.assertEqual(less.value, one.value - other.value)
    self.assertEqual(one.map(lambda x: x / x).interval(), (1.0, 1.0))

  def test_degrees_of_freedom_of_different_groups_are_welchs(self):
    ids = np.array([f"{i:03d}" for i in range(60)])
    values = np.random.default_rng(0).random(60)
    draws = resampling.Draws.from_groups(ids)
    few, most = (
      draws.means(values[:4], ids[:4]),
      draws.means(values[4:], ids[4:]),
    )
    same = replicates.combine(np.subtract, few, most)
    self.assertEqual(same.effective_groups, 4)
    for share in (1.0, 0.1):  # of few in the number
      both = replicates.combine(
        lambda a, b: share * a - b, few, most, disjoint=True
      )
      a, b = (share * few.standard_error) ** 2, most.standard_error**2
      freedom = (a + b) ** 2 / (a**2 / 3 + b**2 / 55)
      self.assertAlmostEqual(both.freedom, freedom)
    still = few.map(lambda x: 0 * x)  # adds nothing
    both = replicates.combine(np.subtract, still, most, disjoint=True)
    self.assertAlmostEqual(both.freedom, 55)

  def test_without_draws_the_jackknife_speaks(self):
    _, mean = _of_normal()
    alone = replicates.Replicates(mean.value, None, mean.jackknife)
    np.testing.assert_allclose(alone.interval(), mean.interval(), atol=0.06)
    self.assertEqual(alone.jackknife_interval(), mean.jackknife_interval())
    twice = alone.map(lambda x: -2 * x)
    np.testing.assert_allclose(twice.interval()[1], -2 * alone.interval()[0])

  def test_halves_move_the_interval_to_what_many_groups_give(self):
    _, mean = _of_normal()
    alone = replicates.Replicates(mean.value, None, mean.jackknife)
    more = mean.value + np.array([0.01, 0.03])
    both = dataclasses.replace(alone, halves=more)
    self.assertAlmostEqual(both.bias, 0.02 / (2 ** (2 / 3) - 1))
    error = np.hypot(alone.standard_error, both.bias / 2)
    self.assertAlmostEqual(both.standard_error, error)
    for plain, moved in (
      (alone.interval(), both.interval()),
      (alone.jackknife_interval(), both.jackknife_interval()),
    ):
      widths = (np.array(plain) - mean.value) / alone.standard_error
      want = mean.value - both.bias + widths * error
      np.testing.assert_allclose(moved, want)
    far = dataclasses.replace(alone, halves=mean.value + np.full(2, 99.0))
    self.assertEqual(far.interval(0.5)[1], mean.value)

  def test_halves_go_through_formulas(self):
    _, mean = _of_normal()
    one = dataclasses.replace(mean, halves=mean.value * np.array([1.1, 1.3]))
    ratio = replicates.combine(np.divide, one, one.map(np.square))
    np.testing.assert_allclose(ratio.halves, 1 / one.halves)
    np.testing.assert_allclose(ratio.jackknife, 1 / one.jackknife)
    with self.assertRaisesRegex(ValueError, "halves"):
      replicates.combine(np.subtract, one, mean)

  def test_no_interval_without_numbers(self):
    _, mean = _of_normal()
    for bad in (
      mean.map(lambda x: x * np.nan),
      mean.map(lambda x: np.where(np.arange(x.shape[-1]) % 10, x, np.nan)),
    ):
      self.assertTrue(np.isnan(bad.interval()).all())
    one = resampling.Draws.from_groups(["a"])
    self.assertEqual(one.means([1.0], ["a"]).interval(), (1, 1))
    for ends in (
      one.means([1.0], ["a"]).jackknife_interval(),
      one.left_out([1.0], ["a"]).interval(),
    ):
      self.assertTrue(np.isnan(ends).all())
    some = mean.map(lambda x: np.where(np.arange(x.shape[-1]) % 50, x, np.inf))
    some = replicates.Replicates(mean.value, some.draws, mean.jackknife, 60)
    np.testing.assert_allclose(some.interval(), mean.interval(), atol=0.1)

  def test_contains_the_value(self):
    _, mean = _of_normal()
    aside = mean.map(lambda x: np.where(np.arange(x.shape[-1]), x + 9, x))
    lo, hi = aside.interval()
    self.assertTrue(lo <= aside.value <= hi)

  def test_different_draws_are_refused(self):
    _, one = _of_normal()
    _, other = _of_normal(n=50)
    with self.assertRaisesRegex(ValueError, "different draws"):
      replicates.combine(np.subtract, one, other)
