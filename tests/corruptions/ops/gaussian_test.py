"""Gaussian blur against scipy, padded or not."""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.ndimage
from absl.testing import parameterized

from robust_tfds.corruptions.ops import gaussian, layout

# Sizes are traced: one program a canvas serves all of them.
_blur = jax.jit(gaussian.blur, static_argnames="border")
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
    got = _blur(plane, weights, layout.Size(*shape), border)
    np.testing.assert_allclose(got, want, atol=2e-3)
    canvas = rng.uniform(0, 255, (2, 60, 64)).astype(np.float32)
    canvas[:, : shape[0], : shape[1]] = plane
    size = layout.Size(*(jnp.int32(n) for n in shape))
    padded = _blur(canvas, weights, size, border)
    np.testing.assert_allclose(
      padded[:, : shape[0], : shape[1]], want, atol=2e-3
    )

  def test_unknown_border(self):
    with self.assertRaisesRegex(ValueError, "Border must be one of"):
      gaussian.blur(np.zeros((3, 3)), np.ones(1), (3, 3), "wrap")
