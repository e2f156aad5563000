"""A reliability diagram: accuracy in bins, the diagonal, how many there are."""

import numpy as np
from absl.testing import absltest

from eval.charts import reliability
from eval.metrics import calibration


class ReliabilityTest(absltest.TestCase):
  def test_a_line_of_diagrams_a_model(self):
    score = np.linspace(0.2, 0.9, 40)
    bins = calibration.reliability(score, score > 0.5)
    panel = reliability.Panel("clean", bins)
    fig = reliability.draw(
      [
        reliability.Line("a", 0, [panel, panel]),
        reliability.Line("b", 1, [panel]),
      ]
    )
    self.assertEqual([a.get_visible() for a in fig.axes[4:6]], [True, False])
    top, bottom = fig.axes[0], fig.axes[2]
    self.assertIn("clean\nECE", top.get_title(loc="left"))
    self.assertEqual(top.get_ylabel(), "a\naccuracy (%)")
    counts = [p.get_height() for p in bottom.patches]
    self.assertEqual(sum(counts), 40)
    shown = [p.get_height() for p in top.patches]
    self.assertLen(shown, sum(n > 0 for n in bins.count))
