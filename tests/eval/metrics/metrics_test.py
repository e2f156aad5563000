"""Metrics of accuracy: rates, errors, stability, trends, their registry."""

import math

import numpy as np
from absl.testing import absltest, parameterized
from scipy import stats

from eval.metrics import (
  calibration,
  frame_scores,
  intervals,
  rates,
  resampling,
  stability,
  trend,
)
from eval.metrics import corruption_error as ce
from robust_tfds import conditions, errors
from tests import in_process, shared_data
from tests.eval.metrics import own_row

_LAZY = """
import sys
from robust_tfds import metrics
assert "eval.metrics.action" not in sys.modules and "scipy" not in sys.modules
assert metrics.action is sys.modules["eval.metrics.action"]
"""


class MetricsTest(absltest.TestCase):
  """The package of the metrics: its families are loaded when they are used."""

  def test_families_are_loaded_when_they_are_used(self):
    done = in_process.python("-c", _LAZY)
    self.assertEqual(done.returncode, 0, done.stderr)


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


_FLAT = {name: [0.5] * 5 for name in conditions.PICTURES.names()}


class CorruptionErrorTest(absltest.TestCase):
  """Corruption errors against the golden tables."""

  def test_goldens(self):
    stored = shared_data.golden_json("imagenet_p/metrics/mce.json")
    for case in stored["cases"]:
      got = ce.summarize(case["errors"], case["clean_error"], "alexnet")
      self.assertAlmostEqual(got["mce"], case["mCE"], delta=1e-12)
      self.assertAlmostEqual(
        got["relative_mce"],
        case["relative"]["0.435"]["relative_mCE"],
        delta=1e-12,
      )
      for name, value in case.get("CE", {}).items():
        self.assertAlmostEqual(got["ce"][name], value, delta=1e-12)

  def test_baseline_equals_the_published_file(self):
    published = shared_data.golden_json("published/alexnet.json")
    own = ce.load_baseline("alexnet")
    self.assertEqual(own["errors"], published["errors"])
    self.assertEqual(own["clean_error"], published["clean_error_paper"])
    self.assertEqual(own["unnormalised_t5d"], published["uT5D"])

  def test_alexnet_against_itself_is_one(self):
    own = ce.load_baseline("alexnet")
    got = ce.summarize(own["errors"], own["clean_error"])
    self.assertAlmostEqual(got["mce"], 1.0)
    self.assertAlmostEqual(got["relative_mce"], 1.0)

  def test_extra_corruptions_never_enter(self):
    base = {"errors": _FLAT, "clean_error": 0.1}
    worse = {
      **_FLAT,
      **{n: [1.0] * 5 for n in conditions.PICTURES.names("extra")},
    }
    got = ce.summarize(worse, 0.1, base)
    self.assertAlmostEqual(got["mce"], 1.0)
    self.assertAlmostEqual(got["mean_error"], 0.5)
    self.assertAlmostEqual(got["ce"]["saturate"], 2.0)

  def test_missing_common_corruption_gives_no_mce(self):
    got = ce.summarize({"fog": [0.5] * 5}, 0.1)
    self.assertTrue(math.isnan(got["mce"]))
    self.assertTrue(math.isnan(got["relative_mce"]))
    self.assertLen(got["missing"], 14)

  def test_a_baseline_without_errors_gives_no_mce(self):
    baseline = {"errors": {**_FLAT, "fog": [0.0] * 5}, "clean_error": 0.3}
    self.assertTrue(math.isnan(ce.summarize(_FLAT, 0.4, baseline)["mce"]))

  def test_a_baseline_that_errs_no_more_gives_no_relative_mce(self):
    for fog in (0.1, 0.3):
      baseline = {"errors": {**_FLAT, "fog": [fog] * 5}, "clean_error": 0.3}
      got = ce.summarize(_FLAT, 0.0, baseline)
      self.assertTrue(math.isnan(got["relative_ce"]["fog"]))
      self.assertTrue(math.isnan(got["relative_mce"]))
      self.assertAlmostEqual(got["relative_ce"]["snow"], 2.5)
      self.assertFalse(math.isnan(got["mce"]))


class OwnConditionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    own_row.add(self)

  def test_it_enters_no_published_mean(self):
    flat = {n: [0.5] * 5 for n in conditions.PICTURES.names("common")}
    before = ce.summarize(flat, 0.1)
    after = ce.summarize({**flat, "invert": [1.0] * 5}, 0.1)
    self.assertEqual(after, before)  # the published baseline has no such errors
    baseline = {"errors": {**flat, "invert": [0.5] * 5}, "clean_error": 0.1}
    after = ce.summarize({**flat, "invert": [1.0] * 5}, 0.1, baseline)
    self.assertEqual(after["ce"]["invert"], 2.0)
    self.assertEqual((after["mce"], after["mean_error"]), (1.0, 0.5))


def _columns(**changes):
  columns = {
    "group_id": np.array(["a", "a", "a", "b", "b"]),
    "frame": np.array([0, 1, -2, 0, 4]),
    "labels": np.array([[1, 2], [1, -1], [1, -1], [0, -1], [0, -1]]),
    "top5": np.array([[2], [1], [0], [0], [0]]),
    "reviewed": np.ones(5, bool),
    "frame_type": np.array(["I", "", "", "P", ""]),
    "fps": np.array([29.97, 29.97, 29.97, 25.0, 25.0]),
    "linf": np.array([0, 0.2, 0.4, 0, 0.6], np.float32),
  }
  return {**columns, **changes}


def _metrics(**changes):
  return dict(frame_scores.Frames.from_columns(_columns(**changes)).metrics())


class FrameScoresTest(absltest.TestCase):
  """One model's sets of frames, in every way of the task `frames`."""

  def test_right(self):
    got = frame_scores.right(_columns())
    self.assertEqual(got.tolist(), [True, True, False, True, True])
    beyond = _columns(top5=np.full((5, 1), 99))
    self.assertFalse(frame_scores.right(beyond).any())

  def test_headlines(self):
    got = _metrics()
    self.assertEqual([got["acc_orig"][0][0], got["acc_orig"][1]], [1.0, 2])
    self.assertEqual(got["acc_pmk"][0][0], 0.5)
    self.assertEqual(got["drop"][0][0], 0.5)
    self.assertEqual(got["acc_pmk/k=1"][0][0], 1.0)
    self.assertEqual(got["acc_pmk/k=2"][0][0], 0.5)

  def test_breakdowns(self):
    got = _metrics()
    self.assertEqual(got["acc_orig/class=2"][1], 1)
    self.assertEqual(got["acc_pmk/frame_type=I"][0][0], 0.0)
    self.assertEqual(got["acc_pmk/without_frame_type=I"][0][0], 1.0)
    self.assertEqual(got["acc_pmk/fps=29"][0][0], 0.0)
    self.assertEqual(got["error/offset=-2"][0][0], 1.0)

  def test_what_is_unknown_has_no_metric(self):
    names = _metrics(
      frame_type=np.full(5, ""), fps=np.zeros(5), linf=np.full(5, np.nan)
    )
    for start in ("frame_type", "fps", "linf"):
      self.assertEmpty([n for n in names if start in n])

  def test_distances_are_compared_in_levels(self):
    got = _metrics()
    self.assertAlmostEqual(got["linf_cdf/pairs=0.20"][0][0], 1 / 3)
    self.assertEqual(got["linf_cdf/mistakes=0.35"][0][0], 0.0)
    self.assertEqual(got["linf_cdf/mistakes=0.40"][0][0], 1.0)

  def test_review_removes_frames_and_whole_sets(self):
    got = _metrics(reviewed=np.array([1, 1, 0, 0, 1], bool))
    self.assertEqual((got["acc_pmk"][0][0], got["acc_pmk"][1]), (1.0, 1))
    self.assertEqual(got["acc_pmk/unreviewed"][1], 2)
    self.assertEqual(got["acc_pmk/same_anchors"][0][0], 0.0)
    self.assertNotIn("acc_pmk/unreviewed", _metrics())
    with self.assertRaisesRegex(ValueError, "accepted no anchor"):
      _metrics(reviewed=np.zeros(5, bool))


_FOLDER = "imagenet_p", "metrics"
_CASES = sorted(
  p.stem for p in shared_data.golden(*_FOLDER).glob("*[0-9]x*.npz")
)


class GoldenTest(parameterized.TestCase):
  """Stability metrics against the authors' numbers."""

  @parameterized.parameters(*_CASES)
  def test_the_authors_numbers(self, case):
    told = shared_data.golden_json(*_FOLDER, f"{case}.json")
    with np.load(shared_data.golden(*_FOLDER, f"{case}.npz")) as data:
      logits = data["logits"].astype(np.float32)
    ranked = stability.rank(logits)
    np.testing.assert_array_equal(stability.rank(logits, 5), ranked[..., :5])
    np.testing.assert_array_equal(ranked[..., 0], logits.argmax(-1))
    noise = told["noise"]
    for d, expected in told["expected_by_difficulty"].items():
      d = int(d)
      near = dict(rtol=0, atol=1e-12)
      got = {
        "FP": stability.flip_probability(ranked[..., 0], noise, d),
        "uT5D": stability.top5_distance(ranked, noise, d),
        "zipf": stability.zipf_distance(ranked, noise, d),
      }
      per = {
        "FP": stability.flips(ranked[..., 0], noise, d),
        "uT5D": stability.top5_distances(ranked, noise, d),
        "zipf": stability.zipf_distances(ranked, noise, d),
      }
      for k in got:
        np.testing.assert_allclose(got[k], expected[k], **near)
        np.testing.assert_allclose(
          per[k].mean(1), expected["per_sequence"][k], **near
        )

  def test_permutations(self):
    told = shared_data.golden_json(*_FOLDER, "permutations.json")
    for case in told["prefix_cases"]:
      prefix = case["sigma_prefix"]
      sigma = [*range(2, 1001), 1] if prefix == "cycle" else prefix
      sigma = np.array([*sigma, *range(len(sigma) + 1, 1001)])
      pair = np.stack([np.arange(1000), np.argsort(sigma)])[None]
      self.assertEqual(stability.top5_distance(pair), case["top5"])
      self.assertAlmostEqual(
        stability.zipf_distance(pair), case["zipf"], delta=1e-12
      )

  def test_normalised_means(self):
    told = shared_data.golden_json(*_FOLDER, "mfr_mt5d.json")
    for case in told["cases"]:
      got = stability.summarize(case["FP"], case["uT5D"])
      for ours, theirs in (("fr", "FR"), ("t5d", "T5D")):
        for name, value in case[theirs].items():
          self.assertAlmostEqual(got[ours][name], value, delta=1e-12)
      self.assertAlmostEqual(got["mfr"], case["mFR"], delta=1e-12)
      self.assertAlmostEqual(got["mt5d"], case["mT5D"], delta=1e-12)


class RankTest(absltest.TestCase):
  def test_ties_signed_zeros_and_infinities(self):
    logits = np.array(
      [
        [0.0, -0.0, 1.0, 1.0, -np.inf, -np.inf, -1.0],
        [-np.inf, -np.inf, 0, -np.inf, -np.inf, -np.inf, -np.inf],
        [np.inf, -np.inf, np.inf, 3, 3, -2, -2],
      ],
      np.float32,
    )
    expected = np.argsort(-logits, axis=1, kind="stable")
    np.testing.assert_array_equal(stability.rank(logits), expected)
    np.testing.assert_array_equal(stability.rank(logits, 5), expected[:, :5])

  def test_random_rankings_equal_a_stable_sort(self):
    rng = np.random.default_rng(0)
    logits = rng.integers(-20, 20, (50, 3, 100)).astype(np.float32) / 4
    expected = np.argsort(-logits, axis=-1, kind="stable")
    np.testing.assert_array_equal(stability.rank(logits), expected)
    np.testing.assert_array_equal(stability.rank(logits, 5), expected[..., :5])


class BadInputTest(absltest.TestCase):
  def test_noise_ignores_the_difficulty(self):
    top1 = [[1, 2, 1]]
    self.assertEqual(
      stability.flip_probability(top1, True, 1),
      stability.flip_probability(top1, True, 3),
    )

  def test_few_classes(self):
    with self.assertRaisesRegex(ValueError, "at least 5 classes"):
      stability.top5_distance([[[0, 1, 2], [0, 2, 1]]])
    padded = np.array([[[0, 1, 2, -1, -1]] * 3])
    with self.assertRaisesRegex(ValueError, "at least 5 classes"):
      stability.top5_distance(padded)

  def test_no_permutation(self):
    with self.assertRaisesRegex(ValueError, "twice"):
      stability.zipf_distance([[[0, 1, 1], [0, 1, 2]]])
    with self.assertRaisesRegex(ValueError, "0..2"):
      stability.zipf_distance([[[0, 1, 5], [0, 1, 2]]])

  def test_incomplete_benchmark_has_no_mean(self):
    got = stability.summarize({"translate": 0.1}, {"translate": 1.0})
    self.assertTrue(np.isnan(got["mfr"]) and np.isnan(got["mt5d"]))
    self.assertLen(got["missing"], 9)


class StabilityOwnConditionTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    own_row.add(self)

  def test_it_enters_no_published_mean(self):
    flat = {n: 0.1 for n in conditions.SEQUENCES.names("common")}
    before = stability.summarize(flat, flat)
    after = stability.summarize({**flat, "invert": 1.0}, flat)
    self.assertEqual(after, before)
    baseline = {
      "flip_probability": {**flat, "invert": 0.5},
      "unnormalised_t5d": flat,
    }
    after = stability.summarize({**flat, "invert": 1.0}, flat, baseline)
    self.assertEqual(after["fr"]["invert"], 2.0)
    self.assertAlmostEqual(after["mfr"], 1.0)


_TESTBED = "published", "shankar", "testbed_vidrobust_reference.json"


class TrendTest(absltest.TestCase):
  def test_against_scipy(self):
    rng = np.random.default_rng(0)
    x = rng.random(40)
    y = 0.9 * x - 0.1 + 0.05 * rng.normal(size=40)
    want, got = stats.linregress(x, y), trend.fit(x, y)
    width = stats.t.ppf(0.975, 38)
    self.assertAlmostEqual(got.slope, want.slope)
    self.assertAlmostEqual(got.intercept, want.intercept)
    self.assertAlmostEqual(got.r_squared, want.rvalue**2)
    for ours, theirs, error in (
      (got.slope_interval, want.slope, want.stderr),
      (got.intercept_interval, want.intercept, want.intercept_stderr),
    ):
      self.assertAlmostEqual(ours[0], theirs - width * error)
      self.assertAlmostEqual(ours[1], theirs + width * error)
    lo, hi = got.band(0.0)
    self.assertAlmostEqual(float(lo), got.intercept_interval[0])
    self.assertAlmostEqual(float(hi), got.intercept_interval[1])
    off = got.above(x, y)
    self.assertAlmostEqual(off.mean(), 0)

  def test_refuses(self):
    for x, y, message in (
      ([0.1, 0.2], [0, 0], "three models or more"),
      ([0.1, 0.2, np.nan], [0, 0, 0], "must be finite"),
      ([0.1] * 3, [0, 0, 0], "the same x"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        trend.fit(x, y)
    with self.assertRaisesRegex(ValueError, "level"):
      trend.fit([0, 1, 2], [0, 1, 2], level=95)


class FigureThreeTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ("imagenet_vid", "imagenet-vid", 0.84980, (0.83520, 0.86440), -0.05281),
    ("ytbb", "ytbb", 0.88181, (0.86408, 0.89953), -0.06972),
  )
  def test_testbed(self, kind, slope, interval, intercept):
    rows = shared_data.golden_json(*_TESTBED)
    x = [float(r[f"{kind}-robust_pm0"]) / 100 for r in rows]
    y = [float(r[f"{kind}-robust_pm10"]) / 100 for r in rows]
    line = trend.fit(x, y)
    self.assertEqual(line.n, 335)
    self.assertAlmostEqual(line.slope, slope, delta=1e-5)
    self.assertAlmostEqual(line.intercept, intercept, delta=1e-5)
    np.testing.assert_allclose(line.slope_interval, interval, atol=1e-5)
    above = line.above(x, y)
    self.assertAlmostEqual(above.sum(), 0, delta=1e-9)

  @parameterized.named_parameters(
    ("table_5", "shankar_table5_vid.csv", 1.02383, (0.95850, 1.08915)),
    ("table_6", "shankar_table6_ytbb.csv", 1.12875, (1.09237, 1.16513)),
  )
  def test_papers_own_models(self, name, slope, interval):
    rows = shared_data.lines(shared_data.golden("published", "shankar", name))
    x, y = ([float(r[c]) / 100 for r in rows] for c in ("orig", "pert"))
    line = trend.fit(x, y)
    self.assertAlmostEqual(line.slope, slope, delta=1e-5)
    np.testing.assert_allclose(line.slope_interval, interval, atol=1e-5)


def _logit(p):
  return math.log(p / (1 - p))


def _on_line(xs, slope, intercept):
  """Accuracies exactly on a line of logits, by a loop of their own."""
  logits = [slope * _logit(x) + intercept for x in xs]
  return [1 / (1 + math.exp(-v)) for v in logits]


def _fit(x, y):
  return trend.fit(x, y, logits=True)


class LogitAxesTest(parameterized.TestCase):
  def test_residuals_are_accuracies_and_not_logits(self):
    x = [0.3, 0.5, 0.9]
    line = _fit(x, _on_line(x, 0.8, -0.2))
    (expected,) = _on_line([0.6], 0.8, -0.2)
    above = line.above([0.6], [0.75])
    self.assertAlmostEqual(above[0], 0.75 - expected, places=12)

  def test_as_scipy_on_the_logits(self):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.3, 0.9, 40)
    y = np.clip(x - 0.1 + rng.normal(0, 0.03, 40), 0.02, 0.98)
    line = _fit(x, y)
    expected = stats.linregress([_logit(v) for v in x], [_logit(v) for v in y])
    self.assertAlmostEqual(line.slope, expected.slope, places=9)
    self.assertAlmostEqual(line.intercept, expected.intercept, places=9)
    self.assertAlmostEqual(line.r_squared, expected.rvalue**2, places=9)

  def test_the_band_covers_the_line(self):
    """In 95 % of samples, at a point: within three binomial deviations."""
    rng, inside, trials = np.random.default_rng(1), 0, 400
    x = np.linspace(0.3, 0.9, 12)
    truth = np.array(_on_line(x, 0.9, -0.4))
    logits = np.log(truth / (1 - truth))
    for _ in range(trials):
      noisy = logits + rng.normal(0, 0.2, len(x))
      line = _fit(x, 1 / (1 + np.exp(-noisy)))
      lo, hi = line.band(x[[3]])
      inside += bool(lo[0] <= truth[3] <= hi[0])
    self.assertBetween(inside / trials, 0.95 - 0.033, 0.95 + 0.033)

  @parameterized.parameters(
    ([0.1, 0.2], [0.1, 0.2], "three models or more"),
    ([0.5, 0.5, 0.5], [0.1, 0.2, 0.3], "same x"),
    ([0.1, 0.2, 1.0], [0.1, 0.2, 0.3], "1 of 3 models have another x, e.g. 1"),
    ([0.1, 0.2, 0.3], [0.0, 0.2, 0.3], "another y, e.g. 0.0"),
    ([0.1, 0.2, 0.3], [0.1, math.nan, 0.3], "another y, e.g. nan"),
    ([10, 20, 30], [0.1, 0.2, 0.3], "3 of 3 models have another x"),
    ([0.1, 0.2, 0.3], [0.1, 0.2], "x and y"),
  )
  def test_refusals(self, x, y, words):
    with self.assertRaisesRegex(errors.UserError, words):
      _fit(x, y)

  def test_a_model_outside_has_none(self):
    line = _fit([0.2, 0.5, 0.8], [0.2, 0.5, 0.8])
    above = line.above([1.0, 0.0, 0.5], [0.9, 0.1, 1.0])
    self.assertTrue(np.isnan(above[:2]).all())
    self.assertAlmostEqual(above[2], 0.5)


_ALL = (
  calibration.ece,
  calibration.ece_adaptive,
  calibration.rms_calibration_error,
)


def _by_loop(score, correct, bin_of, power):
  """The mean power of the gaps of bins."""
  total = 0.0
  for b in set(bin_of):
    rows = [i for i, of in enumerate(bin_of) if of == b]
    conf = math.fsum(float(score[i]) for i in rows) / len(rows)
    acc = sum(bool(correct[i]) for i in rows) / len(rows)
    total += len(rows) / len(score) * abs(acc - conf) ** power
  return total ** (1 / power)


def _random(n=1000, seed=0):
  rng = np.random.default_rng(seed)
  score = rng.beta(5, 2, n).astype(np.float32)
  return score, rng.random(n) < score**2


class AgainstLoopsTest(parameterized.TestCase):
  def test_equal_width(self):
    score, correct = _random()
    bin_of = [
      next(b for b in range(15) if s <= (b + 1) / 15) for s in score.tolist()
    ]
    want = _by_loop(score, correct, bin_of, 1)
    self.assertAlmostEqual(calibration.ece(score, correct), want, places=12)

  @parameterized.parameters(1000, 1003, 15, 7)
  def test_equal_mass_without_ties(self, n):
    score, correct = _random(n)
    rank = np.argsort(np.argsort(score))
    self.assertLen(set(score.tolist()), n)
    bin_of = (rank * 15 // n).tolist()
    want = _by_loop(score, correct, bin_of, 1)
    got = calibration.ece_adaptive(score, correct)
    self.assertAlmostEqual(got, want, places=12)
    count = np.bincount(bin_of, minlength=15)
    self.assertLessEqual(count.max() - count.min(), 1)

  @parameterized.parameters(1000, 1003, 260, 99)
  def test_bins_of_a_hundred(self, n):
    score, correct = _random(n, seed=1)
    rank = np.argsort(np.argsort(score))
    bin_of = (rank * max(n // 100, 1) // n).tolist()
    want = _by_loop(score, correct, bin_of, 2)
    got = calibration.rms_calibration_error(score, correct)
    self.assertAlmostEqual(got, want, places=12)

  def test_equal_scores_stay_together(self):
    """Whatever their order, though the border of two bins parts them."""
    score = np.repeat([0.2, 0.5, 0.8], [10, 20, 10])
    correct = np.arange(40) % 2 > 0
    got = {
      calibration.ece_adaptive(score[o], correct[o], bins=2)
      for o in (np.arange(40), np.arange(40)[::-1], np.arange(40) * 7 % 40)
    }
    # 0.8 has 30 of 40 below it: in the second bin; 0.5 and 0.2 in the first.
    (value,) = got
    want = 30 / 40 * abs(0.5 - 0.4) + 10 / 40 * abs(0.5 - 0.8)
    self.assertAlmostEqual(value, want, places=12)

  @parameterized.parameters(*_ALL)
  def test_neither_order_nor_dtypes_matter(self, metric):
    score, correct = _random(2000, seed=3)
    score = np.round(score, 2)
    value = metric(score, correct)
    order = np.random.default_rng(0).permutation(2000)
    self.assertEqual(metric(score[order], correct[order]), value)
    self.assertEqual(metric(score.astype(np.float64), correct * 1), value)


class ReliabilityTest(parameterized.TestCase):
  def test_borders(self):
    """Every b / 15 is in the bin that ends there; 0 is in the first."""
    score = np.arange(16) / 15
    bins = calibration.reliability(score, np.ones(16, bool))
    self.assertEqual(list(bins.count), [2, *[1] * 14])
    self.assertEqual(bins.edges, [b / 15 for b in range(16)])
    above = np.nextafter(score[:-1], 2)
    bins = calibration.reliability(above, np.ones(15, bool))
    self.assertEqual(list(bins.count), [1] * 15)

  def test_a_score_that_rounded_to_above_one(self):
    score = np.array([np.nextafter(np.float32(1), np.float32(2))])
    bins = calibration.reliability(score, [True])
    self.assertEqual((bins.count[-1], bins.confidence[-1]), (1, 1.0))

  def test_empty_bins(self):
    bins = calibration.reliability([0.95, 0.99], [True, False])
    self.assertEqual(list(bins.count), [0] * 14 + [2])
    for values in (bins.confidence, bins.accuracy, bins.lo, bins.hi):
      self.assertEqual(set(values[:-1]), {None})
    self.assertAlmostEqual(bins.confidence[-1], 0.97)
    self.assertEqual(bins.accuracy[-1], 0.5)
    lo, hi = intervals.clopper_pearson(1, 2)
    self.assertAlmostEqual(bins.lo[-1], lo)
    self.assertAlmostEqual(bins.hi[-1], hi)

  def test_its_ece(self):
    score, correct = _random()
    bins = calibration.reliability(score, correct)
    self.assertEqual(bins.ece, calibration.ece(score, correct))
    self.assertEqual(sum(bins.count), 1000)
    self.assertEqual(calibration.Bins((), (), ()).ece, 0)

  def test_pooled(self):
    """The diagram of all examples together, but for intervals."""
    parts = [_random(100, seed) for seed in range(3)]
    bins = [calibration.reliability(*part) for part in parts]
    got = calibration.pooled(bins)
    want = calibration.reliability(
      *(np.concatenate(values) for values in zip(*parts))
    )
    self.assertEqual(list(got.count), list(want.count))
    for name in ("confidence", "accuracy"):
      for one, other in zip(getattr(got, name), getattr(want, name)):
        self.assertEqual(one is None, other is None)
        self.assertAlmostEqual(one or 0, other or 0)
    self.assertEqual((got.lo, got.hi), ((), ()))
    for several in ([], [bins[0], calibration.reliability([1], [1], 2)]):
      with self.assertRaisesRegex(errors.UserError, "bin by bin"):
        calibration.pooled(several)

  @parameterized.parameters(
    ([], [], "score must be one number an example"),
    ([0.5], [True, False], "do not go together"),
    ([[0.5]], [[True]], "one number an example"),
    ([1.5], [True], r"in \[0, 1\], got 1.5 at 0"),
    ([0.1, -0.1], [1, 1], r"got -0.1 at 1"),
    ([np.nan], [True], "finite"),
    (["0.5"], [True], "finite numbers"),
    ([0.5], [0.5], "bool, or numbers 0 and 1"),
  )
  def test_refused(self, score, correct, message):
    for metric in _ALL:
      with self.assertRaisesRegex(errors.UserError, message):
        metric(score, correct)

  def test_refused_bins(self):
    for metric, name in ((_ALL[0], "bins"), (_ALL[2], "bin_size")):
      words = f"{name} must be a whole"
      with self.assertRaisesRegex(errors.UserError, words):
        metric([0.5], [True], **{name: 0})
