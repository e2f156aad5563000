"""gamma of arrays of accuracies against the metric of numbers."""

import numpy as np
from absl.testing import absltest

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.metrics import action
from robust_tfds.eval.tasks.parts import gammas

_K = 3


def _accuracies():
  rng = np.random.default_rng(0)
  cells = conditions.VIDEOS.conditions()
  return {c: rng.uniform(0.2, 0.9, _K) for c in cells}


class GammasTest(absltest.TestCase):
  def test_every_place_is_what_the_metric_says(self):
    accuracy = _accuracies()
    got = gammas.of(accuracy)
    self.assertLen(got, 2 * (18 + 5 + 1))
    for k in range(_K):
      cells = {(c.name, c.level): a[k] for c, a in accuracy.items() if c.name}
      want = action.robustness(cells, accuracy[Condition()][k])
      for measure in gammas.MEASURES:
        for over, value in gammas.flat(want[measure]).items():
          if over[0] != "cells":
            key = gammas.row_key(measure, over)
            self.assertAlmostEqual(got[key][k], value)

  def test_what_lacks_cells_is_not_there(self):
    accuracy = _accuracies()
    del accuracy[conditions.VIDEOS.condition("jpeg", 3)]
    got = gammas.of(accuracy)
    for key in (
      ("gamma_r", "jpeg", None),
      ("gamma_r/digital", "", None),
      ("gamma_a", "", None),
    ):
      self.assertNotIn(key, got)
    self.assertIn(("gamma_a/camera", "", None), got)
    del accuracy[Condition()]
    self.assertEqual(gammas.of(accuracy), {})

  def test_a_draw_without_clean_success_has_no_gamma_r(self):
    accuracy = _accuracies()
    accuracy[Condition()][1] = 0
    got = gammas.of(accuracy)
    self.assertEqual(
      np.isnan(got["gamma_r", "", None]).tolist(), [False, True, False]
    )
    self.assertFalse(np.isnan(got["gamma_a", "", None]).any())


if __name__ == "__main__":
  absltest.main()
