"""AllConv beside the network written out."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds import models
from tests.models import drawn
from tests.models.classification import by_hand


def _gelu(x) -> np.ndarray:
  return x / (1 + np.exp(-1.702 * x))


class AllConvTest(absltest.TestCase):
  def test_as_written_out(self):
    model = drawn.with_options(models.get("allconv"), widths=(6, 8))
    variables = drawn.variables(model)
    x = np.random.default_rng(1).normal(size=(2, 32, 32, 3)).astype(np.float32)
    y = x
    # Places in the authors' list of layers, and their padding.
    for place, padding in (
      *((0, 1), (3, 1), (6, 1)),
      *((11, 1), (14, 1), (17, 1)),
      *((22, 0), (25, 1), (28, 1)),
    ):
      if place in (11, 22):
        y = by_hand.max_pool(y, 2, 2)
      layers = variables["features"]
      y = by_hand.conv(y, layers[str(place)], 1, padding)
      y = _gelu(by_hand.norm(y, layers[str(place + 1)]))
    self.assertEqual(y.shape[1:3], (10, 10))  # 8 - 6 - 8 - 10
    want = by_hand.linear(y[:, :8, :8].mean((1, 2)), variables["classifier"])
    got = jax.jit(model.apply)(variables, x)
    np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())
