"""The line over models: closed forms, scipy, the paper's Figure 3, logit axes."""

import math

import numpy as np
from absl.testing import absltest, parameterized
from scipy import stats

from eval.metrics import trend
from robust_tfds import errors
from tests import shared_data

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
  @parameterized.parameters((1.0, 0.0), (0.7, -0.8), (1.4, 0.3), (-0.5, 1.0))
  def test_points_on_a_line_have_no_residual(self, slope, intercept):
    x = [0.2, 0.35, 0.5, 0.8, 0.97]
    y = _on_line(x, slope, intercept)
    line = _fit(x, y)
    self.assertAlmostEqual(line.slope, slope, places=9)
    self.assertAlmostEqual(line.intercept, intercept, places=9)
    above = line.above(x, y)
    np.testing.assert_allclose(above, 0, atol=1e-12)
    lo, hi = line.band(x)
    np.testing.assert_allclose(lo, y, atol=1e-9)
    np.testing.assert_allclose(hi, y, atol=1e-9)

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

  def test_it_is_another_number_than_on_plain_axes(self):
    x, y = [0.5, 0.7, 0.95], [0.3, 0.5, 0.9]
    plain = trend.fit(x, y).predict(0.99)
    self.assertGreater(plain, 0.93)
    self.assertLess(_fit(x, y).predict(0.999), 1)

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

  def test_logit_and_back(self):
    x = np.array([0.1, 0.5, 0.9])
    logits = trend.logit(x)
    np.testing.assert_allclose(logits, [-math.log(9), 0, math.log(9)])
    np.testing.assert_allclose(trend.inverse_logit(logits), x)
    outside = trend.logit([0.0, 1.0, 2.0, math.nan])
    self.assertTrue(np.isnan(outside).all())

  def test_a_model_outside_has_none(self):
    line = _fit([0.2, 0.5, 0.8], [0.2, 0.5, 0.8])
    above = line.above([1.0, 0.0, 0.5], [0.9, 0.1, 1.0])
    self.assertTrue(np.isnan(above[:2]).all())
    self.assertAlmostEqual(above[2], 0.5)
