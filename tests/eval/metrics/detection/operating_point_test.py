"""The threshold of the highest F1 against a loop over all thresholds."""

import numpy as np
from absl.testing import absltest

from eval.metrics.detection import operating_point


class OperatingPointTest(absltest.TestCase):
  def test_no_other_threshold_is_better(self):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 20, 200) / 20
    right = rng.random(200) < scores
    wrong = ~right & (rng.random(200) < 0.9)
    threshold, best = operating_point.best_f1(scores, right, wrong, 120)
    every = {}
    for t in np.unique(scores):
      shown = scores >= t
      hits = (right & shown).sum()
      every[t] = 2 * hits / (hits + (wrong & shown).sum() + 120)
    self.assertAlmostEqual(best, max(every.values()))
    self.assertAlmostEqual(every[threshold], best)

  def test_without_a_hit(self):
    none = np.zeros(3, bool)
    got = operating_point.best_f1(np.arange(3.0), none, ~none, 5)
    self.assertEqual(got, (float("inf"), 0.0))
    empty = np.zeros(0)
    got = operating_point.best_f1(empty, empty > 0, empty > 0, 5)
    self.assertEqual(got, (float("inf"), 0.0))
