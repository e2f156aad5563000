"""Gaussian blur against scipy, padded or not."""

import numpy as np
import scipy.ndimage
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds.corruptions.ops import gaussian

_SCIPY = {"nearest": "nearest", "reflect": "reflect", "reflect101": "mirror"}


class GaussianTest(parameterized.TestCase):
  @parameterized.product(
    border=gaussian.BORDERS,
    shape=((40, 53), (1, 7), (2, 30), (5, 1)),
    sigma=(0.4, 2.0, 20.0),
  )
  def test_equals_scipy_and_ignores_the_padding(self, border, shape, sigma):
    rng = np.random.default_rng(0)
    plane = rng.uniform(0, 255, (2, *shape)).astype(np.float32)
    want = np.stack(
      [
        scipy.ndimage.gaussian_filter(
          p.astype(np.float64), sigma, mode=_SCIPY[border], truncate=4.0
        )
        for p in plane
      ]
    )
    weights = gaussian.kernels([sigma, 22.0])[0]  # zero taps at the ends
    got = gaussian.blur(plane, weights, shape, border)
    np.testing.assert_allclose(got, want, atol=2e-3)
    canvas = rng.uniform(0, 255, (2, 60, 64)).astype(np.float32)
    canvas[:, : shape[0], : shape[1]] = plane
    size = tuple(np.int32(n) for n in shape)
    padded = gaussian.blur(canvas, weights, size, border)
    np.testing.assert_allclose(
      padded[:, : shape[0], : shape[1]], want, atol=2e-3
    )

  def test_traced_kernel_equals_the_host_one(self):
    for sigma in (0.32, 2.24, 6.4):
      got = np.asarray(gaussian.traced_kernel(np.float32(sigma), 32, 3.0))
      want = gaussian.kernel(sigma, 3.0)
      middle = slice(32 - len(want) // 2, 33 + len(want) // 2)
      np.testing.assert_allclose(got[middle], want, rtol=1e-5, atol=1e-7)
      self.assertEqual(np.count_nonzero(got), len(want))

  def test_unknown_border(self):
    with self.assertRaisesRegex(ValueError, "Border must be one of"):
      gaussian.blur(np.zeros((3, 3)), np.ones(1), (3, 3), "wrap")


if __name__ == "__main__":
  absltest.main()
