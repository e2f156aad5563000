"""The line on logit axes: closed forms, an independent fit, refusals."""

import math

import numpy as np
from absl.testing import absltest, parameterized
from scipy import stats

from robust_tfds import errors
from robust_tfds.eval.metrics import effective_robustness, natural_trend


def _logit(p):
  return math.log(p / (1 - p))


def _on_line(xs, slope, intercept):
  """Accuracies exactly on a line of logits, by a loop of their own."""
  logits = [slope * _logit(x) + intercept for x in xs]
  return [1 / (1 + math.exp(-v)) for v in logits]


class EffectiveRobustnessTest(parameterized.TestCase):
  @parameterized.parameters((1.0, 0.0), (0.7, -0.8), (1.4, 0.3), (-0.5, 1.0))
  def test_points_on_a_line_have_no_residual(self, slope, intercept):
    x = [0.2, 0.35, 0.5, 0.8, 0.97]
    y = _on_line(x, slope, intercept)
    trend = effective_robustness.fit(x, y)
    self.assertAlmostEqual(trend.line.slope, slope, places=9)
    self.assertAlmostEqual(trend.line.intercept, intercept, places=9)
    above = effective_robustness.effective_robustness(x, y, trend)
    np.testing.assert_allclose(above, 0, atol=1e-12)
    lo, hi = trend.band(x)
    np.testing.assert_allclose(lo, y, atol=1e-9)
    np.testing.assert_allclose(hi, y, atol=1e-9)

  def test_residuals_are_accuracies_and_not_logits(self):
    x = [0.3, 0.5, 0.9]
    trend = effective_robustness.fit(x, _on_line(x, 0.8, -0.2))
    (expected,) = _on_line([0.6], 0.8, -0.2)
    above = effective_robustness.effective_robustness([0.6], [0.75], trend)
    self.assertAlmostEqual(above[0], 0.75 - expected, places=12)

  def test_as_scipy_on_the_logits(self):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.3, 0.9, 40)
    y = np.clip(x - 0.1 + rng.normal(0, 0.03, 40), 0.02, 0.98)
    line = effective_robustness.fit(x, y).line
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
      trend = effective_robustness.fit(x, 1 / (1 + np.exp(-noisy)))
      lo, hi = trend.band(x[[3]])
      inside += bool(lo[0] <= truth[3] <= hi[0])
    self.assertBetween(inside / trials, 0.95 - 0.033, 0.95 + 0.033)

  def test_it_is_another_number_than_on_plain_axes(self):
    x, y = [0.5, 0.7, 0.95], [0.3, 0.5, 0.9]
    plain = natural_trend.fit(x, y).at(0.99)
    self.assertGreater(plain, 0.93)
    self.assertLess(effective_robustness.fit(x, y).at(0.999), 1)

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
      effective_robustness.fit(x, y)

  def test_logit_and_back(self):
    x = np.array([0.1, 0.5, 0.9])
    logits = effective_robustness.logit(x)
    np.testing.assert_allclose(logits, [-math.log(9), 0, math.log(9)])
    np.testing.assert_allclose(effective_robustness.inverse_logit(logits), x)
    outside = effective_robustness.logit([0.0, 1.0, 2.0, math.nan])
    self.assertTrue(np.isnan(outside).all())

  def test_a_model_outside_has_none(self):
    trend = effective_robustness.fit([0.2, 0.5, 0.8], [0.2, 0.5, 0.8])
    above = effective_robustness.effective_robustness(
      [1.0, 0.0, 0.5], [0.9, 0.1, 1.0], trend
    )
    self.assertTrue(np.isnan(above[:2]).all())
    self.assertAlmostEqual(above[2], 0.5)


if __name__ == "__main__":
  absltest.main()
