"""How far frames are from their anchors, and the shares of distances."""

import numpy as np
from absl.testing import absltest

from robust_tfds.eval.metrics import natural_distance
from tests import shared_data


class DistanceTest(absltest.TestCase):
  def test_differences_do_not_wrap(self):
    a = np.full((1, 2, 2, 3), 255, np.uint8)
    self.assertEqual(natural_distance.l_infinity(a, a * 0)[0], 1.0)
    self.assertEqual(natural_distance.l_infinity(a * 0, a)[0], 1.0)

  def test_refuses(self):
    a = np.zeros((2, 2, 3), np.uint8)
    with self.assertRaisesRegex(ValueError, "uint8 images of one shape"):
      natural_distance.l_infinity(a, a.astype(np.float32))
    with self.assertRaisesRegex(ValueError, "at least one value"):
      natural_distance.cdf([], [0.1])


class GoldenTest(absltest.TestCase):
  def test_golden(self):
    want = shared_data.golden_json("video", "pmk_golden.json.gz")["linf"]
    path = shared_data.golden("video", "linf_frames.npz")
    with np.load(path) as data:
      got = natural_distance.l_infinity(data["a"], data["b"])
      np.testing.assert_allclose(got, data["linf"], atol=1e-12)
    np.testing.assert_allclose(got, want["linf_0_1"], atol=1e-12)
    np.testing.assert_allclose(
      natural_distance.cdf(got, want["thresholds"]), want["cdf"], atol=1e-12
    )
