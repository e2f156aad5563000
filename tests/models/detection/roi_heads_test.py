"""Parts of the second stage against loops."""

import numpy as np
from absl.testing import absltest

from robust_tfds.models.detection import roi_heads


class EnlargeTest(absltest.TestCase):
  def test_enlarging_is_a_transposed_convolution(self):
    from flax import nnx

    layer = roi_heads.Enlarge(3, 2, rngs=nnx.Rngs(0))
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 3), np.float32)
    got, kernel = np.asarray(layer(x)), np.asarray(layer.kernel[...])
    want = np.zeros((1, 4, 6, 2))
    for i, j, a, b in np.ndindex(2, 3, 2, 2):
      want[0, 2 * i + a, 2 * j + b] = kernel[a, b] @ x[0, i, j]
    np.testing.assert_allclose(got, want, atol=1e-5)
