"""Which cells the confusion shows, and what it lists."""

import numpy as np
from absl.testing import absltest

from eval.report.reports.video import confusion
from tests.eval.report.reports import contexts

_RIGHT = np.array([[0, 0], [1, 1], [2, 2]])
_WRONG = np.array([[0, 1], [1, 1], [2, 2]])


class ConfusionTest(absltest.TestCase):
  def test_of_a_group_the_worst_cell(self):
    context = contexts.of_task(
      "video",
      models=("ours",),
      names=("gaussian_noise", "shot_noise"),
      confusions={
        ("ours", "", 0): _RIGHT,
        ("ours", "gaussian_noise", 1): _RIGHT,
        ("ours", "shot_noise", 5): _WRONG,
      },
    )
    text = confusion.Confusion().text(context)
    self.assertIn("## ours, shot noise 5", text)
    self.assertNotIn("gaussian noise", text)
    self.assertIn("| cat\\_0 | dog | 100.0 | 0.0 |", text)
