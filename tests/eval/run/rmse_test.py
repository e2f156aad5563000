"""RMSE of corruptions and the figure beside a detector's losses."""

import numpy as np
import pytest

from eval.cells import table
from eval.run import rmse
from tests import in_folder


class RmseTest(in_folder.TestCase):
  @pytest.mark.slow
  def test_measured_on_real_corruptions(self):
    found = rmse.measure(
      "digits_detection_c",
      ("gaussian_noise", "brightness"),
      limit=2,
      data_dir=self.create_tempdir().full_path,
    )
    self.assertLen(found, 10)
    noise = [found["gaussian_noise", s] for s in range(1, 6)]
    self.assertTrue((np.diff(noise) > 0).all())
    # Sigma 0.08 is 20 levels, less what is clipped; never uint8's wrapped 10.
    self.assertBetween(noise[0], 14, 21)
    self.assertGreater(noise[4], 50)

  def test_figure(self):
    rows = [
      table.Row("m", "coco_c", "", "", None, "p", 0.4),
      table.Row("m", "coco_c", "", "fog", None, "mean_ap", 0.2),
    ]
    path = rmse.figure({("fog", 1): 30.0, ("fog", 2): 40.0}, rows, self.root)
    self.assertGreater(path.stat().st_size, 1000)
