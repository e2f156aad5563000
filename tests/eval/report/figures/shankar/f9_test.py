"""Figure 9: the scheme agrees with the metric."""

import pathlib

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.eval.metrics import pm_k
from tests.eval.report.figures import lines


class Figure9Test(parameterized.TestCase):
  @parameterized.parameters((0, 1.0), (4, 1.0), (10, 0.0))
  def test_verdicts(self, k, expected):
    folder = pathlib.Path(self.create_tempdir().full_path)
    drawn = [
      x for x in lines.of("shankar_f9", folder) if x["frame"] != "left out"
    ]
    frame = np.array([int(x["offset"].lstrip("'")) for x in drawn])
    right = np.array([x["frame"] == "right" for x in drawn])
    group = np.array(["anchor"] * len(frame))
    value = pm_k.accuracy(right, group, frame, k=k)["acc_pmk"][0]
    self.assertEqual(value, expected)


if __name__ == "__main__":
  absltest.main()
