"""Calibration of the top score: by hand, by loops, borders, ties, order."""

import math

import numpy as np
from absl.testing import parameterized

from eval.metrics import calibration, intervals
from robust_tfds import errors

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


class ClosedFormsTest(parameterized.TestCase):
  @parameterized.parameters(*_ALL)
  def test_calibrated(self, metric):
    """Three of four are right at 0.75, one of four at 0.25."""
    score = np.repeat([0.75, 0.25], 200)
    correct = np.concatenate([np.arange(200) % 4 > 0, np.arange(200) % 4 < 1])
    self.assertAlmostEqual(metric(score, correct), 0, places=12)

  @parameterized.parameters(*_ALL)
  def test_certain_and_always_right_or_wrong(self, metric):
    self.assertEqual(metric(np.ones(500), np.ones(500, bool)), 0)
    self.assertEqual(metric(np.ones(500), np.zeros(500, bool)), 1)
    self.assertAlmostEqual(metric([0.7], [True]), 0.3, places=12)

  def test_two_points(self):
    """100 of 0.9, of which 80 are right; 300 of 0.5, of which 180 are."""
    score = np.repeat([0.9, 0.5], [100, 300])
    correct = np.concatenate([np.arange(100) < 80, np.arange(300) < 180])
    # Gaps of 0.1 and 0.1 of opposite signs.
    for metric in _ALL:
      self.assertAlmostEqual(metric(score, correct), 0.1, places=12)
    correct[:100] = np.arange(100) < 60  # a gap of 0.3 for a quarter
    self.assertAlmostEqual(calibration.ece(score, correct), 0.15, places=12)
    rms = math.sqrt(0.25 * 0.09 + 0.75 * 0.01)
    got = calibration.rms_calibration_error(score, correct)
    self.assertAlmostEqual(got, rms, places=12)

  def test_gaps_cancel_within_a_bin_alone(self):
    score, correct = [0.61, 0.65, 0.81, 0.85], [1, 1, 0, 0]
    self.assertAlmostEqual(
      calibration.ece(score, correct, bins=1), abs(0.5 - 0.73), places=12
    )
    self.assertAlmostEqual(
      calibration.ece(score, correct, bins=5), (0.37 + 0.83) / 2, places=12
    )


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
