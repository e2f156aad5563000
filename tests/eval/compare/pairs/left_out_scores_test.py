"""Calibration of a cell without each block, against the metrics themselves."""

import numpy as np
from absl.testing import absltest

from robust_tfds.eval.compare.pairs import left_out_scores
from robust_tfds.eval.metrics import calibration
from robust_tfds.eval.metrics.resampling import Draws
from robust_tfds.eval.tasks.parts.reliability import Answers

_N = 90


def answers(seed=0, groups=_N, **scores) -> Answers:
  """Of a cell of examples in groups."""
  rng = np.random.default_rng(seed)
  score = rng.random(_N).astype(np.float32)
  names = np.array([f"g{i % groups:03d}" for i in range(_N)])
  right = rng.random(_N) < score
  return Answers(score, right, scores, names, np.zeros(_N, np.int32))


class LeftOutScoresTest(absltest.TestCase):
  def test_equals_the_metrics_of_what_is_left(self):
    nll = np.random.default_rng(1).random(_N).astype(np.float32)
    of = answers(groups=30, nll=nll, brier=2 * nll)
    draws = Draws.of(of.groups, blocks=12)
    got = left_out_scores.of_cell(of, draws)
    self.assertEqual(list(got), ["ece", "nll", "brier"])
    self.assertAlmostEqual(
      float(got["ece"].value),
      calibration.ece(of.score, of.correct),
      delta=1e-12,
    )
    block = draws.blocks_of(of.groups)
    for j in range(12):
      kept = block != j
      want = calibration.ece(of.score[kept], of.correct[kept])
      self.assertAlmostEqual(got["ece"].jackknife[j], want, delta=1e-12)
      want = nll[kept].astype(np.float64).mean()
      self.assertAlmostEqual(got["nll"].jackknife[j], want, delta=1e-12)
    self.assertIsNone(got["brier"].draws)
    self.assertEqual(got["brier"].groups, 30)

  def test_no_chance_for_a_true_class(self):
    nll = np.full(_N, np.float32(1))
    nll[3] = np.inf
    of = answers(nll=nll, brier=np.ones(_N, np.float32))
    got = left_out_scores.of_cell(of, Draws.of(of.groups))
    self.assertEqual(list(got), ["ece", "brier"])

  def test_one_group_has_no_interval(self):
    of = answers(groups=1)
    got = left_out_scores.of_cell(of, Draws.of(of.groups))
    self.assertTrue(np.isnan(got["ece"].interval()).all())
    self.assertTrue(np.isfinite(got["ece"].value))


if __name__ == "__main__":
  absltest.main()
