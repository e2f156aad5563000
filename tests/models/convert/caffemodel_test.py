"""Caffe's files: both layouts, names, shapes, and damage in words."""

import numpy as np
from absl.testing import parameterized

from models.convert import caffemodel
from tests.models.convert import checkpoints


def _arrays() -> dict[str, np.ndarray]:
  rng = np.random.default_rng(0)
  return {
    "conv1.weight": rng.standard_normal((2, 3, 3, 3), np.float32),
    "conv1.bias": rng.standard_normal(2, np.float32),
    "fire.a.weight": rng.standard_normal((4, 2, 1, 1), np.float32),
  }


class CaffemodelTest(parameterized.TestCase):
  @parameterized.parameters(False, True)
  def test_names_and_shapes(self, old):
    got = caffemodel.read(checkpoints.caffemodel(_arrays(), old))
    names = ["conv1/weight", "conv1/bias", "fire/a/weight"]
    self.assertEqual(list(got), names)
    for array, expected in zip(got.values(), _arrays().values(), strict=True):
      self.assertEqual(array.dtype, np.float32)
      np.testing.assert_array_equal(array, expected)

  def test_third_arrays_have_numbers(self):
    arrays = {f"bn.{n}": np.full(2, i) for i, n in enumerate("abc")}
    got = caffemodel.read(checkpoints.caffemodel(arrays, False))
    self.assertEqual(list(got), ["bn/weight", "bn/bias", "bn/2"])

  @parameterized.parameters(
    (b"", "no layer with arrays"),
    (b"\x0a\x05ab", "ends within a field"),
  )
  def test_refuses(self, data, message):
    with self.assertRaisesRegex(ValueError, message):
      caffemodel.read(data)

  def test_numbers_have_to_fill_the_shape(self):
    data = checkpoints.caffemodel({"a.weight": np.zeros(3)}, False)
    # The shape's one dimension, 3, becomes 4.
    broken = data.replace(b"\x3a\x03\x0a\x01\x03", b"\x3a\x03\x0a\x01\x04")
    self.assertNotEqual(broken, data)
    with self.assertRaisesRegex(ValueError, r"3 numbers for shape \(4,\)"):
      caffemodel.read(broken)
