"""The line over models: against scipy, and the paper's Figure 3."""

import numpy as np
from absl.testing import absltest, parameterized
from scipy import stats

from robust_tfds.eval.metrics import natural_trend
from tests import shared_data

_TESTBED = "published", "shankar", "testbed_vidrobust_reference.json"


class TrendTest(absltest.TestCase):
  def test_against_scipy(self):
    rng = np.random.default_rng(0)
    x = rng.random(40)
    y = 0.9 * x - 0.1 + 0.05 * rng.normal(size=40)
    want, got = stats.linregress(x, y), natural_trend.fit(x, y)
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
    off = natural_trend.effective_robustness(x, y, got)
    self.assertAlmostEqual(off.mean(), 0)

  def test_refuses(self):
    for x, y, message in (
      ([0.1, 0.2], [0, 0], "three models or more"),
      ([0.1, 0.2, np.nan], [0, 0, 0], "must be finite"),
      ([0.1] * 3, [0, 0, 0], "the same x"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        natural_trend.fit(x, y)
    with self.assertRaisesRegex(ValueError, "level"):
      natural_trend.fit([0, 1, 2], [0, 1, 2], level=95)


class FigureThreeTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ("imagenet_vid", "imagenet-vid", 0.84980, (0.83520, 0.86440), -0.05281),
    ("ytbb", "ytbb", 0.88181, (0.86408, 0.89953), -0.06972),
  )
  def test_testbed(self, kind, slope, interval, intercept):
    rows = shared_data.golden_json(*_TESTBED)
    x = [float(r[f"{kind}-robust_pm0"]) / 100 for r in rows]
    y = [float(r[f"{kind}-robust_pm10"]) / 100 for r in rows]
    line = natural_trend.fit(x, y)
    self.assertEqual(line.n, 335)
    self.assertAlmostEqual(line.slope, slope, delta=1e-5)
    self.assertAlmostEqual(line.intercept, intercept, delta=1e-5)
    np.testing.assert_allclose(line.slope_interval, interval, atol=1e-5)
    above = natural_trend.effective_robustness(x, y, line)
    self.assertAlmostEqual(above.sum(), 0, delta=1e-9)

  @parameterized.named_parameters(
    ("table_5", "shankar_table5_vid.csv", 1.02383, (0.95850, 1.08915)),
    ("table_6", "shankar_table6_ytbb.csv", 1.12875, (1.09237, 1.16513)),
  )
  def test_papers_own_models(self, name, slope, interval):
    rows = shared_data.lines(shared_data.golden("published", "shankar", name))
    x, y = ([float(r[c]) / 100 for r in rows] for c in ("orig", "pert"))
    line = natural_trend.fit(x, y)
    self.assertAlmostEqual(line.slope, slope, delta=1e-5)
    np.testing.assert_allclose(line.slope_interval, interval, atol=1e-5)


if __name__ == "__main__":
  absltest.main()
