"""gamma of arrays of accuracies against the metric of numbers."""

import numpy as np
from absl.testing import absltest

from eval.metrics import action
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import gamma_headlines, headlines
from robust_tfds import conditions
from robust_tfds.conditions import Condition


def _accuracies():
  rng = np.random.default_rng(0)
  return {
    c: {"accuracy": headlines.value_alone(rng.uniform(0.2, 0.9))}
    for c in conditions.VIDEOS.conditions()
  }


def _numbers(cells):
  return headlines.numbers(gamma_headlines.headlines(cells), cells, {})


class GammaHeadlinesTest(absltest.TestCase):
  def test_what_the_metric_says(self):
    cells = _accuracies()
    got = {key: float(n.value) for key, n in _numbers(cells).items()}
    self.assertLen(got, 2 * (18 + 5 + 1))
    values = {c: float(of["accuracy"].value) for c, of in cells.items()}
    want = action.robustness(
      {(c.name, c.level): a for c, a in values.items() if c.name},
      values[Condition()],
    )
    for measure in ("gamma_a", "gamma_r"):
      of = want[measure]
      self.assertAlmostEqual(got[measure, "", None], of["mean"])
      for name, value in of["names"].items():
        self.assertAlmostEqual(got[measure, name, None], value)
      for group, value in of["groups"].items():
        self.assertAlmostEqual(got[f"{measure}/{group}", "", None], value)

  def test_what_lacks_cells_is_not_there(self):
    cells = _accuracies()
    del cells[conditions.VIDEOS.condition("jpeg", 3)]
    got = _numbers(cells)
    for key in (
      ("gamma_r", "jpeg", None),
      ("gamma_r/digital", "", None),
      ("gamma_a", "", None),
    ):
      self.assertNotIn(key, got)
    self.assertIn(("gamma_a/camera", "", None), got)
    del cells[Condition()]
    names = {metric for metric, _, _ in _numbers(cells)}
    self.assertEqual(names, {"part_mean_accuracy"})  # which needs no clean cell

  def test_a_draw_without_clean_success_has_no_gamma_r(self):
    cells = {
      c: {
        "accuracy": Replicates(np.array(0.5), np.array([0.5, 0.2]), np.zeros(1))
      }
      for c in _accuracies()
    }
    clean = np.array([0.5, 0.0])
    cells[Condition()]["accuracy"] = Replicates(
      np.array(0.5), clean, np.ones(1)
    )
    got = _numbers(cells)
    self.assertEqual(
      np.isnan(got["gamma_r", "", None].draws).tolist(), [False, True]
    )
    self.assertFalse(np.isnan(got["gamma_a", "", None].draws).any())
