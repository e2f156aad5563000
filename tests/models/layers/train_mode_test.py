"""What is drawn in training: how much, for whom, and what it depends on."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models import layers
from models.layers import train_mode


def _entered(*steps, key=0):
  stack = layers.Stack(steps)
  train_mode.enter(stack, jax.random.key(key), frozen_norms=False)
  return stack


class TrainModeTest(absltest.TestCase):
  def test_evaluation_keeps_everything(self):
    x = jnp.ones((2, 3))
    stack = layers.Stack((layers.Dropout(0.5), layers.StochasticDepth(0.5)))
    self.assertIs(stack(x), x)

  def test_dropout_keeps_the_mean(self):
    y = np.asarray(_entered(layers.Dropout(0.2))(jnp.ones((100, 100))))
    self.assertEqual(set(np.unique(y)), {np.float32(0), np.float32(1 / 0.8)})
    # Five standard errors: sqrt(.2 * .8 / 10^4) = .004.
    self.assertAlmostEqual((y == 0).mean(), 0.2, delta=0.02)

  def test_stochastic_depth_drops_whole_examples(self):
    y = np.asarray(_entered(layers.StochasticDepth(0.5))(jnp.ones((400, 2, 3))))
    of_examples = y.reshape(400, -1)
    self.assertTrue((of_examples == of_examples[:, :1]).all())
    self.assertAlmostEqual((of_examples[:, 0] == 0).mean(), 0.5, delta=0.125)

  def test_draws_know_the_place_and_not_the_batch(self):
    for layer in (layers.Dropout, layers.StochasticDepth):
      stack = _entered(layer(0.5))
      whole = stack(jnp.ones((16, 5)))
      np.testing.assert_array_equal(stack(jnp.ones((7, 5))), whole[:7])

  def test_layers_and_keys_draw_apart(self):
    x = jnp.ones((16, 5))
    one = _entered(layers.Dropout(0.5), layers.identity)
    second = _entered(layers.identity, layers.Dropout(0.5))
    other = _entered(layers.Dropout(0.5), layers.identity, key=1)
    self.assertFalse(np.array_equal(one(x), second(x)))
    self.assertFalse(np.array_equal(one(x), other(x)))
    again = _entered(layers.Dropout(0.5), layers.identity)
    np.testing.assert_array_equal(one(x), again(x))

  def test_the_dtype_stays(self):
    x = jnp.ones((2, 3), jnp.bfloat16)
    self.assertEqual(_entered(layers.Dropout(0.5))(x).dtype, jnp.bfloat16)
