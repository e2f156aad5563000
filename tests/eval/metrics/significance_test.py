"""Tests of differences: closed forms, brute force, rates of false alarms."""

import dataclasses
import itertools

import numpy as np
from absl.testing import parameterized
from scipy import stats

from eval.metrics import significance
from eval.metrics.replicates import Replicates
from eval.metrics.resampling import Draws
from robust_tfds import errors
from tests import shared_data

_LEVEL = 0.05


def _exchanged(first, second) -> float:
  """p of all 2^n ways to exchange the models' results, of each example apart."""
  d = np.array(first, int) - np.array(second, int)
  signs = np.array(list(itertools.product((1, -1), repeat=len(d))))
  return float((np.abs(signs @ d) >= abs(d.sum())).mean())


class McNemarTest(parameterized.TestCase):
  @parameterized.parameters((0, 5), (1, 9), (3, 4), (6, 6), (40, 71), (0, 1))
  def test_equals_scipys_binomial_test(self, b, c):
    want = stats.binomtest(b, b + c).pvalue
    self.assertAlmostEqual(significance.mcnemar(b, c), want, delta=1e-12)
    self.assertAlmostEqual(significance.mcnemar(c, b), want, delta=1e-12)

  def test_by_hand(self):
    # Of 8 that tell the models apart 1 is the first's: 2 (1 + 8) / 2 ** 8.
    self.assertAlmostEqual(significance.mcnemar(1, 7), 18 / 256, delta=1e-15)

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

  def test_agrees_with_the_t_test(self):
    d = np.random.default_rng(3).normal(0.05, 1, 600)
    got = significance.exchange_p(d, 20_000)
    self.assertAlmostEqual(got, stats.ttest_1samp(d, 0).pvalue, delta=0.01)
    self.assertEqual(got, significance.exchange_p(-d, 20_000))

  def test_few_groups_decide_nothing(self):
    for groups, want in ((1, 1.0), (2, 0.5), (5, 1 / 16)):
      got = significance.exchange_p(np.full(groups, 0.3), 9_999)
      self.assertBetween(got, want, want + 0.01)
    self.assertEqual(significance.exchange_p(np.zeros(9), 99), 1)
    # Of 300 groups four tell the models apart.
    got = significance.exchange_p(np.arange(300) < 4, 99_999)
    self.assertBetween(got, 1 / 8, 1 / 8 + 0.005)

  def test_no_more_than_the_exchanges_can_show(self):
    got = significance.exchange_p(np.full(5_000, 0.5), 99)
    self.assertAlmostEqual(got, 1 / 100)

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

  @parameterized.parameters(
    ([np.nan, 0.1],), ([1.1],), ([-0.1],), ([[0.1]],), (0.1,), (["0.1"],)
  )
  def test_refusals(self, p):
    with self.assertRaises(errors.UserError):
      significance.holm(p)


class RankRangesTest(parameterized.TestCase):
  def test_all_and_nothing_decided(self):
    n = 4
    better = np.triu(np.ones((n, n), bool), 1)
    want = [(i, i) for i in range(1, n + 1)]
    self.assertEqual(significance.rank_ranges(better), want)
    self.assertEqual(significance.rank_ranges(better * False), [(1, n)] * n)
    self.assertEqual(significance.rank_ranges([[False]]), [(1, 1)])
    self.assertEqual(significance.rank_ranges(np.zeros((0, 0), bool)), [])

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
