"""The real check: published weights on real photographs.

Counts are those of the README of the weights: right top-1 and top-5 of 242.
"""

import jax
import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds import models
from tests import shared_data
from tests.models.classification import photographs

_FILES = {
  "squeezenet1_1": ("squeezenet1_1.npz", 166, 207),
  "squeezenet1_0": ("squeezenet1_0_deepcompressed.npz", 158, 203),
}
# Codecs differ in the last bit between Pillow builds: a photograph or two on
# the border may change sides.
_SLACK = 2


def _right(name: str, swapped: bool) -> tuple[int, int]:
  """How many photographs have their label first, and among the first five."""
  file = shared_data.path("data/weights", _FILES[name][0])
  variables = models.convert.load(name, file)
  return photographs.right(models.get(name), variables, swapped=swapped)


class SqueezeNetTest(parameterized.TestCase):
  @pytest.mark.slow
  def test_accuracy_on_photographs(self):
    self._check("squeezenet1_1")

  @pytest.mark.slow
  def test_accuracy_of_the_larger_one(self):
    self._check("squeezenet1_0")

  def _check(self, name):
    top1, top5 = _right(name, swapped=False)
    _, want1, want5 = _FILES[name]
    self.assertAlmostEqual(top1, want1, delta=_SLACK)
    self.assertAlmostEqual(top5, want5, delta=_SLACK)

  @pytest.mark.slow
  def test_swapped_channels_cost_much(self):
    top1, _ = _right("squeezenet1_1", swapped=True)
    # The README measured about 20 points; on these 242 it is 18.6.
    self.assertLess(top1, _FILES["squeezenet1_1"][1] - 0.17 * 242)


class SizesTest(parameterized.TestCase):
  @parameterized.parameters("squeezenet1_0", "squeezenet1_1")
  def test_squeezenet_takes_any_size(self, name):
    model = models.get(name, num_classes=4)
    variables = jax.eval_shape(model.init, jax.random.key(0))
    for side in (64, 97, 224, 227):
      batch = jax.ShapeDtypeStruct((2, side, side + 5, 3), np.uint8)
      got = jax.eval_shape(model.apply, variables, batch)
      self.assertEqual(got.shape, (2, 4))
