"""The shares of distances of frames from their anchors."""

import numpy as np
from absl.testing import absltest

from eval.metrics import natural_distance
from tests import shared_data


class CdfTest(absltest.TestCase):
  def test_refuses(self):
    with self.assertRaisesRegex(ValueError, "at least one value"):
      natural_distance.cdf([], [0.1])

  def test_golden(self):
    want = shared_data.golden_json("video", "pmk_golden.json.gz")["linf"]
    got = natural_distance.cdf(want["linf_0_1"], want["thresholds"])
    np.testing.assert_allclose(got, want["cdf"], atol=1e-12)
