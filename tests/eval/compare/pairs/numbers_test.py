"""Numbers of several sides, drawn together."""

import numpy as np
from absl.testing import absltest

from eval.cells.workdir import Workdir
from eval.compare.pairs import numbers
from eval.metrics import calibration
from eval.metrics.resampling import Draws
from eval.tasks.parts.reliability import Answers
from robust_tfds import errors
from tests.eval.compare import small_runs, task_runs
from tests.eval.compare.pairs import sides_case


class NumbersTest(sides_case.TestCase):
  def test_values_and_equal_draws(self):
    one, other = (self.side(n) for n in ("one", "other"))
    got = numbers.read([one, other], list(one.cells))
    self.assertTrue(got.drawn)
    for condition in one.cells:
      columns = one.columns(condition)
      want = (columns["top5"][:, 0] != columns["label"]).mean()
      first, second = (cells[condition]["error"] for cells in got.cells)
      self.assertAlmostEqual(float(first.value), want, delta=1e-15)
      np.testing.assert_array_equal(first.draws, second.draws)
      self.assertEqual(got.n[condition], small_runs.EXAMPLES)

  def test_values_alone(self):
    one = sides_case.of(task_runs.numbers(self.root / "one", 0.4))
    other = sides_case.of(task_runs.detection(self.root / "other", 0.9))
    common = list(one.cells)[:3]
    same = numbers.read([one, one], common)
    self.assertFalse(same.drawn)
    value = same.cells[0][common[1]]["bbox/AP"].value
    self.assertAlmostEqual(float(value), 0.4 * 0.9)
    self.assertEqual(list(same.cells[0][common[0]]), ["bbox/AP"])
    with self.assertRaisesRegex(errors.UserError, "different ground truth"):
      numbers.read([one, other], common)

  def test_other_truth(self):
    one = sides_case.of(task_runs.detection(self.root / "one", 0.9))
    folder = task_runs.detection(self.root / "other", 0.9)
    truth = task_runs.boxes()
    truth["annotations"][3]["bbox"] = [0.0, 0.0, 5.0, 5.0]
    Workdir(folder).write_truth(truth)
    with self.assertRaisesRegex(errors.UserError, "different ground truth"):
      numbers.read([one, sides_case.of(folder)], list(one.cells)[:1])


_N = 90


class CalibrationTest(absltest.TestCase):
  """Scores without each block of groups, against the metrics themselves."""

  def _of(self, groups=_N, **scores) -> tuple[Answers, dict]:
    """A cell of examples in groups, and its calibration in 12 blocks."""
    rng = np.random.default_rng(0)
    score = rng.random(_N).astype(np.float32)
    names = np.array([f"g{i % groups:03d}" for i in range(_N)])
    right = rng.random(_N) < score
    answers = Answers(score, right, scores, names, np.zeros(_N, np.int32))
    self.draws = Draws.from_groups(names, blocks=12, resamples=1)
    return answers, numbers._calibration(answers, self.draws)

  def test_equals_the_metrics_of_what_is_left(self):
    nll = np.random.default_rng(1).random(_N).astype(np.float32)
    of, got = self._of(30, nll=nll, brier=2 * nll)
    self.assertEqual(list(got), ["ece", "nll", "brier"])
    self.assertEqual(got["ece"].value, calibration.ece(of.score, of.correct))
    block = self.draws.blocks_of(of.groups)
    for j in range(12):
      want = nll[block != j].astype(np.float64).mean()
      self.assertAlmostEqual(got["nll"].jackknife[j], want, delta=1e-12)
    self.assertIsNone(got["brier"].draws)
    self.assertEqual(got["brier"].effective_groups, 30)

  def test_no_chance_for_a_true_class(self):
    nll = np.full(_N, np.float32(1))
    nll[3] = np.inf
    _, got = self._of(nll=nll, brier=np.ones(_N, np.float32))
    self.assertEqual(list(got), ["ece", "brier"])

  def test_one_group_has_no_interval(self):
    _, got = self._of(1, nll=np.ones(_N, np.float32))
    self.assertTrue(np.isnan(got["nll"].interval()).all())
    self.assertTrue(np.isfinite(got["nll"].value))
