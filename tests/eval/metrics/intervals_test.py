"""How sure a number is: replicates, draws and tests."""

import dataclasses
import itertools

import numpy as np
from absl.testing import absltest, parameterized
from scipy import optimize, stats

from eval.metrics import intervals, replicates, resampling, significance
from eval.metrics.replicates import Replicates
from eval.metrics.resampling import Draws
from robust_tfds import errors
from tests import shared_data


class ClopperPearsonTest(absltest.TestCase):
  """Exact binomial intervals."""

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


def _of_normal(n=60, seed=0):
  values = np.random.default_rng(seed).normal(3, 2, n)
  ids = np.array([f"{i:03d}" for i in range(n)])
  return values, resampling.Draws.from_groups(ids).means(values, ids)


class ReplicatesTest(absltest.TestCase):
  """Intervals from draws and from the jackknife; numbers made of numbers."""

  def test_jackknife_of_a_mean_is_students_interval(self):
    values, mean = _of_normal()
    want = stats.t.interval(0.95, 59, values.mean(), stats.sem(values))
    np.testing.assert_allclose(mean.jackknife_interval(), want)
    self.assertAlmostEqual(mean.standard_error, stats.sem(values))

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

  def test_different_draws_are_refused(self):
    _, one = _of_normal()
    _, other = _of_normal(n=50)
    with self.assertRaisesRegex(ValueError, "different draws"):
      replicates.combine(np.subtract, one, other)


_IDS = np.array([f"video{i}" for i in (3, 1, 1, 7, 3, 3, 9, 1)])
_VALUES = np.array([0.0, 1, 1, 0, 0, 1, 1, 0])


def _weights(draws, ids):
  """How often each draw has each group, read off the means of indicators."""
  of_group = np.unique(ids)
  indicators = (of_group[:, None] == of_group).astype(float)
  return np.rint(draws.means(indicators, of_group).draws * len(of_group)).T


class DrawsTest(parameterized.TestCase):
  """Draws of whole groups: paired, of whole groups, equal to small loops."""

  def test_a_draw_has_as_many_groups_as_there_are(self):
    weights = _weights(resampling.Draws.from_groups(_IDS, resamples=50), _IDS)
    self.assertEqual(weights.shape, (50, 4))
    np.testing.assert_array_equal(weights.sum(axis=1), 4)
    self.assertGreater(len(np.unique(weights, axis=0)), 10)

  def test_equals_a_loop_over_draws_groups_and_examples(self):
    draws = resampling.Draws.from_groups(_IDS, resamples=40)
    result = draws.means(_VALUES, _IDS)
    for drawn, of_groups in zip(result.draws, _weights(draws, _IDS)):
      top = bottom = 0.0
      for group, times in zip(sorted(set(_IDS)), of_groups):
        for value, of in zip(_VALUES, _IDS):
          if of == group:
            top, bottom = top + times * value, bottom + times
      self.assertAlmostEqual(drawn, top / bottom, places=12)
    self.assertAlmostEqual(result.value, 0.5)

  def test_jackknife_leaves_every_group_out_once(self):
    result = resampling.Draws.from_groups(_IDS, resamples=2).means(
      _VALUES, _IDS
    )
    want = [_VALUES[_IDS != g].mean() for g in sorted(set(_IDS))]
    np.testing.assert_allclose(sorted(result.jackknife), sorted(want))
    self.assertAlmostEqual(result.effective_groups, 8**2 / (9 + 9 + 1 + 1))

  def test_blocks_are_equal_whole_and_not_of_neighbours(self):
    ids = np.array([f"{i:05d}" for i in range(1050)])
    draws = resampling.Draws.from_groups(ids, resamples=1)
    of = draws.blocks_of(ids)
    self.assertCountEqual(set(np.bincount(of)), {10, 11})
    self.assertEqual(draws.blocks, 100)
    self.assertGreater(np.abs(np.diff(of)).mean(), 20)
    left = draws.means(of == 7, ids).jackknife
    self.assertEqual(left[7], 0)
    self.assertEqual((left > 0).sum(), 99)

  def test_depends_on_the_set_of_ids_and_the_seed_alone(self):
    order = np.random.default_rng(0).permutation(len(_IDS))
    wide = _IDS[order].astype("U40")
    one = resampling.Draws.from_groups(_IDS, resamples=30).means(_VALUES, _IDS)
    same = resampling.Draws.from_groups(wide, resamples=30).means(
      _VALUES[order], wide
    )
    np.testing.assert_array_equal(one.draws, same.draws)
    np.testing.assert_array_equal(one.jackknife, same.jackknife)
    other = resampling.Draws.from_groups(_IDS, resamples=30, seed=1)
    self.assertFalse(
      np.array_equal(one.draws, other.means(_VALUES, _IDS).draws)
    )
    fewer = resampling.Draws.from_groups(_IDS, resamples=10).means(
      _VALUES, _IDS
    )
    np.testing.assert_array_equal(one.draws[:10], fewer.draws)

  def test_chunks_change_nothing(self):
    ids = np.array([f"{i:05d}" for i in range(300)])
    values = np.random.default_rng(0).random((300, 3))
    whole = resampling.Draws.from_groups(ids, resamples=120).means(values, ids)
    self.addCleanup(setattr, resampling, "_AT_ONCE", resampling._AT_ONCE)
    self.addCleanup(setattr, resampling, "_KEPT", resampling._KEPT)
    resampling._AT_ONCE, resampling._KEPT = 300 * 50, 0
    parts = resampling.Draws.from_groups(ids, resamples=120).means(values, ids)
    np.testing.assert_allclose(whole.draws, parts.draws, rtol=1e-14)

  def test_many_conditions_at_once_are_each_by_itself(self):
    draws = resampling.Draws.from_groups(_IDS, resamples=25)
    table = np.stack([_VALUES, 1 - _VALUES], axis=1)
    totals = [
      resampling.Totals.from_values(_VALUES.astype(bool), _IDS),
      resampling.Totals.from_values(table, _IDS),
      resampling.Totals.from_values(_VALUES[:5], _IDS[:5]),
    ]
    together = draws.total_means(totals)
    self.assertEqual([r.value.shape for r in together], [(), (2,), ()])
    alone = draws.means(_VALUES, _IDS)
    np.testing.assert_allclose(together[0].draws, alone.draws)
    np.testing.assert_allclose(together[1].draws[0], alone.draws)
    np.testing.assert_allclose(together[1].draws.sum(axis=0), 1)

  def test_a_condition_that_lacks_groups_is_of_what_it_has(self):
    draws = resampling.Draws.from_groups(_IDS, resamples=200)
    has = _IDS != "video1"
    result = draws.means(_VALUES[has], _IDS[has])
    self.assertAlmostEqual(result.value, _VALUES[has].mean())
    none = _weights(draws, _IDS)[:, 1:].sum(axis=1) == 0
    np.testing.assert_array_equal(np.isnan(result.draws), none)

  def test_refusals(self):
    draws = resampling.Draws.from_groups(_IDS, resamples=2)
    with self.assertRaisesRegex(ValueError, "Group 'other' is none of the 4"):
      draws.means([1.0], ["other"])
    with self.assertRaisesRegex(ValueError, "do not go together"):
      draws.means([1.0, 0.0], ["video1"])
    with self.assertRaisesRegex(ValueError, "finite numbers"):
      draws.means([np.nan], ["video1"])
    with self.assertRaisesRegex(ValueError, "column of texts"):
      resampling.Draws.from_groups([])
    with self.assertRaisesRegex(ValueError, "column of texts"):
      resampling.Draws.from_groups([1, 2])


_LEVEL = 0.05


def _exchanged(first, second) -> float:
  """p of all 2^n ways to exchange the models' results, of each example apart."""
  d = np.array(first, int) - np.array(second, int)
  signs = np.array(list(itertools.product((1, -1), repeat=len(d))))
  return float((np.abs(signs @ d) >= abs(d.sum())).mean())


class McNemarTest(parameterized.TestCase):
  """Tests of differences: closed forms, brute force, rates of false alarms."""

  @parameterized.parameters((0, 5), (6, 6), (40, 71))
  def test_equals_scipys_binomial_test(self, b, c):
    want = stats.binomtest(b, b + c).pvalue
    self.assertAlmostEqual(significance.mcnemar(b, c), want, delta=1e-12)
    self.assertAlmostEqual(significance.mcnemar(c, b), want, delta=1e-12)

  def test_equals_all_exchanges_of_the_models(self):
    rng = np.random.default_rng(1)
    for n in (1, 4, 9):
      first, second = rng.random((2, n)) < [[0.8], [0.4]]
      b, c = (first & ~second).sum(), (second & ~first).sum()
      self.assertAlmostEqual(
        significance.mcnemar(b, c), _exchanged(first, second), delta=1e-12
      )

  def test_cells_together(self):
    b, c = np.array([[0, 3], [25_000, 0]]), np.array([4, 3])
    p = significance.mcnemar(b, c)
    self.assertEqual(p.shape, (2, 2))
    for place in np.ndindex(2, 2):
      want = significance.mcnemar(b[place], c[place[1]])
      self.assertEqual(p[place], want)
    self.assertEqual(p[0, 1], 1)
    self.assertEqual(p[1, 0], 0)  # below the least float

  def test_false_alarms_are_at_most_as_rare_as_said(self):
    rng = np.random.default_rng(2)
    n = rng.integers(5, 80, 20_000)
    b = rng.binomial(n, 0.5)
    rate = (significance.mcnemar(b, n - b) <= _LEVEL).mean()
    self.assertLess(rate, _LEVEL)
    self.assertGreater(rate, 0.02)

  @parameterized.parameters((-1, 2), (1.5, 2), (np.nan, 2), ("3", 2), (1e12, 2))
  def test_what_is_no_count(self, b, c):
    with self.assertRaises(errors.UserError):
      significance.mcnemar(b, c)
    with self.assertRaisesRegex(errors.UserError, "do not go together"):
      significance.mcnemar([1, 2], [1, 2, 3])


class ExchangeTest(parameterized.TestCase):
  def test_equals_scipys_permutation_test(self):
    d = np.random.default_rng(3).normal(0.5, 1, (9, 3))
    want = [
      stats.permutation_test(
        (column, np.zeros(9)),
        lambda x, y: (x - y).sum(),
        permutation_type="samples",
      ).pvalue  # exact: all 2 ** 9
      for column in d.T
    ]
    got = significance.exchange_p(d, 200_000)
    np.testing.assert_allclose(got, want, atol=0.003)

  def test_of_single_examples_it_is_mcnemar(self):
    d = np.repeat([1, -1, 0], [19, 7, 300])
    got = significance.exchange_p(d, 100_000)
    self.assertAlmostEqual(got, significance.mcnemar(19, 7), delta=0.002)
    self.assertEqual(_exchanged([1, 1, 1, 0], [0, 0, 0, 1]), 0.625)

  def test_few_groups_decide_nothing(self):
    for groups, want in ((1, 1.0), (2, 0.5), (5, 1 / 16)):
      got = significance.exchange_p(np.full(groups, 0.3), 9_999)
      self.assertBetween(got, want, want + 0.01)
    self.assertEqual(significance.exchange_p(np.zeros(9), 99), 1)
    # Of 300 groups four tell the models apart.
    got = significance.exchange_p(np.arange(300) < 4, 99_999)
    self.assertBetween(got, 1 / 8, 1 / 8 + 0.005)

  @parameterized.parameters((8, 0), (25, 0), (25, 2), (60, 2))
  def test_false_alarms_of_clusters(self, groups, unequal):
    """Groups of 5 alike, or of sizes that differ by the factor e ** 2."""
    tries = 2_000
    rng = np.random.default_rng(4)
    first, second = rng.random((2, groups, tries)) < 0.6
    sizes = 5 * np.exp(rng.normal(0, unequal / 2, (groups, tries))).round(1)
    d = (first.astype(float) - second) * sizes
    p = significance.exchange_p(d, 2_000)
    self.assertLess((p <= _LEVEL).mean(), 0.055)
    by_examples = significance.mcnemar(
      (d.clip(0)).sum(0).round(), (-d).clip(0).sum(0).round()
    )
    self.assertGreater((by_examples <= _LEVEL).mean(), 0.2)

  @parameterized.parameters(([np.nan], 9), (["a"], 9), ([1.0], 0))
  def test_refusals(self, differences, exchanges):
    with self.assertRaises(errors.UserError):
      significance.exchange_p(differences, exchanges)


def _of_blocks(value, jackknife) -> Replicates:
  return Replicates(np.array(value), None, np.array(jackknife, np.float64))


class JackknifeTest(parameterized.TestCase):
  def test_equals_the_t_test_of_a_mean(self):
    x = np.random.default_rng(5).normal(0.4, 1, 25)
    without = (x.sum() - x) / 24
    want = stats.ttest_1samp(x, 0).pvalue
    one = _of_blocks(x.mean(), without)
    self.assertAlmostEqual(significance.interval_p(one), want, delta=1e-12)
    two = _of_blocks([x.mean(), 0], [without, without * 0])
    both = significance.interval_p(two)
    np.testing.assert_allclose(both, [want, 1], atol=1e-12)

  def test_false_alarms(self):
    x = np.random.default_rng(6).normal(0, 1, (4_000, 20))
    without = (x.sum(1, keepdims=True) - x) / 19
    p = significance.interval_p(_of_blocks(x.mean(1), without))
    self.assertBetween((p <= _LEVEL).mean(), 0.03, _LEVEL)

  @parameterized.parameters(0.42, 0.32, 0.3, 0.0)
  def test_decides_where_the_interval_of_a_biased_number_does(self, half):
    x = np.random.default_rng(5).normal(0.4, 0.7, 25)
    without = (x.sum() - x) / 24
    halves = np.full(2, half)
    one = dataclasses.replace(_of_blocks(x.mean(), without), halves=halves)
    p = significance.interval_p(one)
    for level in (1 - 1.001 * p, 1 - 0.999 * p):
      lo, hi = one.interval(level)
      self.assertEqual(not lo <= 0 <= hi, level < 1 - p, level)

  @parameterized.parameters(1.6, 2.2)
  def test_decides_where_the_interval_of_skewed_groups_does(self, more):
    x = more - np.random.default_rng(5).exponential(size=12)
    ids = np.array([f"{i:02d}" for i in range(12)])
    one = Draws.from_groups(ids).means(x, ids)
    p = significance.interval_p(one)
    self.assertGreater(p, 1.05 * stats.ttest_1samp(x, 0).pvalue)
    for level in (1 - 1.001 * p, 1 - 0.999 * p):
      lo, hi = one.interval(level)
      self.assertEqual(not lo <= 0 <= hi, level < 1 - p, level)

  def test_a_bias_beyond_the_difference_decides_nothing(self):
    one = _of_blocks(0.01, np.full(9, 0.01))
    more = dataclasses.replace(one, halves=np.full(2, 0.03))
    self.assertEqual(significance.interval_p(more), 1)

  @parameterized.parameters(
    (0.0, [0.0] * 100, 1),
    (0.3, [0.3], 1),
    (0.3, [0.3] * 4, 1 / 8),
    (np.nan, [np.nan] * 4, np.nan),
    (0.3, [0.3, 0.2, np.nan], np.nan),
  )
  def test_nothing_varies(self, value, jackknife, want):
    got = significance.interval_p(_of_blocks(value, jackknife))
    np.testing.assert_equal(got, want)


class HolmTest(parameterized.TestCase):
  @parameterized.parameters(
    ([], []),
    ([0.2], [0.2]),
    # 4 x 0.005, 3 x 0.01, 2 x 0.03, 0.04 raised to the one before.
    ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
    ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
    ([0.9, 0.8], [1.0, 1.0]),
    ([0.0, 1.0], [0.0, 1.0]),
  )
  def test_by_hand(self, p, want):
    np.testing.assert_allclose(significance.holm(p), want, atol=1e-15)

  def test_equals_a_step_down_loop(self):
    rng = np.random.default_rng(7)
    p = np.round(rng.random(60) ** 4, 3)  # with ties
    adjusted = significance.holm(p)
    for level in (0.01, 0.05, 0.2):
      rejected = np.zeros(60, bool)
      for k, i in enumerate(np.argsort(p, kind="stable")):
        if p[i] > level / (60 - k):
          break
        rejected[i] = True
      # The loop may stop between equal values; the adjustment may not.
      self.assertTrue((adjusted[rejected] <= level + 1e-12).all())
      self.assertTrue((p[adjusted <= level - 1e-12] <= level).all())
      self.assertEqual(rejected.sum(), (adjusted <= level).sum())

  def test_false_alarms_of_the_whole_family(self):
    # 95 cells of the same examples depend on each other.
    rng = np.random.default_rng(8)
    shared = rng.normal(size=(2_000, 1))
    z = 0.6 * shared + 0.8 * rng.normal(size=(2_000, 95))
    any_wrong = [
      significance.holm(row).min() <= _LEVEL
      for row in 2 * stats.norm.sf(np.abs(z))
    ]
    self.assertLess(np.mean(any_wrong), _LEVEL + 0.015)

  @parameterized.parameters(([np.nan, 0.1],), ([1.1],), ([[0.1]],), (0.1,))
  def test_refusals(self, p):
    with self.assertRaises(errors.UserError):
      significance.holm(p)


class RankRangesTest(parameterized.TestCase):
  def test_some_decided(self):
    better = np.zeros((3, 3), bool)
    better[0, 2] = True
    want = [(1, 2), (1, 3), (2, 3)]
    self.assertEqual(significance.rank_ranges(better), want)

  def test_hold_the_true_ranks(self):
    rng = np.random.default_rng(9)
    truth = np.array([0.0, 0.4, 0.5, 1.2, 1.3])
    rank = np.argsort(np.argsort(-truth)) + 1
    pairs = list(itertools.combinations(range(5), 2))
    tries, whole = 500, 0
    for _ in range(tries):
      mean = truth + rng.normal(0, 0.2, 5)
      z = np.array([mean[i] - mean[j] for i, j in pairs]) / (0.2 * 2**0.5)
      adjusted = significance.holm(2 * stats.norm.sf(np.abs(z)))
      better = np.zeros((5, 5), bool)
      for (i, j), p, sign in zip(pairs, adjusted, z):
        better[(i, j) if sign > 0 else (j, i)] = p <= _LEVEL
      ranges = significance.rank_ranges(better)
      whole += all(lo <= r <= hi for (lo, hi), r in zip(ranges, rank))
    self.assertGreaterEqual(whole / tries, 0.95)

  @parameterized.parameters(
    ([[1]], "0 and 0 are each better"),
    ([[0, 1], [1, 0]], "0 and 1 are each better"),
    ([[0, 1]], "must be a square"),
    ([[0, np.nan], [0, 0]], "must be bool"),
  )
  def test_refusals(self, better, message):
    with self.assertRaisesRegex(errors.UserError, message):
      significance.rank_ranges(better)


class RelativeDecreaseTest(parameterized.TestCase):
  def test_numbers_draws_and_nothing_to_divide_by(self):
    got = significance.relative_decrease(
      [0.3, 0.2, 0, 0.1, 1], [0.6, 0.1, 0, 0, -1]
    )
    np.testing.assert_array_equal(got, [0.5, -1, np.nan, np.nan, np.nan])
    self.assertEqual(significance.relative_decrease(0.5, 0.5), 0)
    self.assertTrue(np.isnan(significance.relative_decrease(np.nan, 1)))

  def test_printed(self):
    """Section 5.2's rows: in %, of the model without the method, a decrease > 0.

    The numbers that 41 % and 40 % are made of are not printed; what is printed
    beside them are pairs whose decrease the text calls an improvement.
    """
    path = shared_data.path("data", "published", "hendrycks_rows.csv")
    rows = [r for r in shared_data.lines(path) if r["table"] == "sec5.2"]
    of = {(r["network"], r["metric"]): float(r["value"]) for r in rows}
    alp = "Tiny ImageNet ResNet-50 + ALP"
    for metric, percent in (("mFP", 41), ("mT5D", 40)):
      printed = of[alp, f"{metric} relative decrease_%"]
      self.assertEqual(printed, percent)
      got = significance.relative_decrease(1 - printed / 100, 1)
      self.assertAlmostEqual(100 * got, percent, delta=1e-9)
    clahe = of["ResNet-50 + CLAHE (5 epochs)", "mCE_%"]
    got = significance.relative_decrease(clahe, of["ResNet-50", "mCE_%"])
    self.assertAlmostEqual(got, 2.2 / 76.7, delta=1e-9)
