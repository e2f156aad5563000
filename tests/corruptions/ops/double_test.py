"""Float64 inside a JAX of float32: the bits of numpy's."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions.ops import double


class DoubleTest(absltest.TestCase):
  def test_bits_keep_every_value(self):
    values = np.array([[0.1, -1e300], [np.pi, 5e-324]])
    stored = double.bits(values)
    self.assertEqual((stored.shape, stored.dtype), ((2, 2, 2), np.int32))
    np.testing.assert_array_equal(stored.view(np.float64)[..., 0], values)
    with jax.enable_x64(True):
      np.testing.assert_array_equal(double.value(jnp.asarray(stored)), values)

  def test_quotients_are_rounded_correctly(self):
    a = np.arange(1, 2000, dtype=np.float32)
    got = jax.jit(double.quotient)(a, np.float32(255))
    self.assertEqual(got.dtype, jnp.float32)
    np.testing.assert_array_equal(got, a / np.float32(255))
