"""Arrays as a file: equal ones are equal bytes, and NumPy reads them."""

import io

import numpy as np
from absl.testing import absltest

from robust_tfds.storage import npz

_ARRAYS = {"b/c": np.arange(6.0).reshape(2, 3), "a": np.array([1], np.int8)}


class NpzTest(absltest.TestCase):
  def test_equal_ones_are_equal_bytes(self):
    data = npz.archived(_ARRAYS)
    turned = {k: np.asfortranarray(v) for k, v in reversed(_ARRAYS.items())}
    self.assertEqual(npz.archived(turned), data)

  def test_numpy_reads_them(self):
    with np.load(io.BytesIO(npz.archived(_ARRAYS))) as again:
      self.assertCountEqual(again, _ARRAYS)
      for name, array in _ARRAYS.items():
        np.testing.assert_array_equal(again[name], array)
        self.assertEqual(again[name].dtype, array.dtype)
