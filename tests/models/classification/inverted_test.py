"""Parts of networks of inverted residuals."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest
from flax import nnx

from models.classification import inverted


class InvertedTest(absltest.TestCase):
  def test_a_convolution_its_norm_and_a_function(self):
    doubled = inverted.conv_norm(
      4, 6, 3, 2, activation=lambda x: 2 * x, rngs=nnx.Rngs(0)
    )
    plain = inverted.conv_norm(4, 6, 3, 2, rngs=nnx.Rngs(0))
    x = jax.random.normal(jax.random.key(1), (2, 7, 7, 4))
    want = jax.jit(plain)(x)
    self.assertEqual(want.shape, (2, 4, 4, 6))
    np.testing.assert_allclose(jax.jit(doubled)(x), 2 * want, rtol=1e-6)

  def test_excitation_scales_channels(self):
    excite = inverted.Excite(4, 2, rngs=nnx.Rngs(0))
    x = jax.random.normal(jax.random.key(1), (2, 5, 5, 4))
    factor = jax.jit(excite)(x) / x
    self.assertEqual(factor.shape, x.shape)
    # One factor a picture and channel, between 0 and 1.
    np.testing.assert_allclose(
      factor, factor[:, :1, :1] * jnp.ones_like(x), rtol=1e-5
    )
    self.assertTrue(bool(((factor > 0) & (factor < 1)).all()))

  def test_channels_are_multiples_of_eight(self):
    # Of arXiv:1801.04381's code: the nearest multiple, never below nine tenths.
    for width, expected in ((32, 32), (35, 32), (36, 40), (44, 48), (9, 16)):
      self.assertEqual(inverted.round_channels(width), expected, width)
