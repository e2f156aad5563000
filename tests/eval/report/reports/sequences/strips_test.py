"""Flips in strips: of noise from the first frame, else from the one before."""

import numpy as np
from absl.testing import parameterized

from eval.report.reports.sequences import strips
from tests import in_folder
from tests.eval.report.reports import contexts


class StripsTest(in_folder.TestCase):
  @parameterized.parameters(("tilt", 2), ("gaussian_noise", 6))
  def test_flips(self, name, flips):
    # 3 frames of class 0, 6 of class 1, 3 of class 0 again.
    top5 = np.repeat([[0], [1], [0]], [3, 6, 3], axis=0) + np.zeros(5, int)
    context = contexts.of_task(
      "sequences",
      models=("ours",),
      names=(name,),
      predicted={("ours", name, 1): top5},
    )
    strips.Strips().write(context, self.root)
    # Matplotlib draws text as shapes and says it in a comment before them.
    svg = (self.root / "strips.svg").read_text("utf-8")
    self.assertIn(f"ours: {flips} of 11", svg)
    self.assertIn("classes seen: cat_0, dog", svg)

  def test_what_flips_most_is_shown_first(self):
    still, moving = np.zeros((12, 5), int), np.arange(60).reshape(12, 5) % 2
    context = contexts.of_task(
      "sequences",
      models=("ours",),
      names=("tilt", "brightness"),
      predicted={
        ("ours", "tilt", 1): still,
        ("ours", "brightness", 1): moving,
      },
    )
    lines, _ = strips.Strips().folded(context)
    self.assertEqual([x.name for x in lines], ["brightness", "tilt"])
