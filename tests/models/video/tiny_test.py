"""The small network of moving digits: lengths, order of frames, training."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from absl.testing import absltest

from robust_tfds import models
from tests.models import drawn


class TinyTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("tiny_r3d")
    cls.variables = drawn.variables(cls.model)
    cls.apply = staticmethod(jax.jit(cls.model.apply))
    rng = np.random.default_rng(0)
    cls.clips = rng.integers(0, 256, (4, 8, 32, 32, 3), np.uint8)

  def test_order_of_frames_matters(self):
    got = self.apply(self.variables, self.clips)
    turned = self.apply(self.variables, self.clips[:, ::-1])
    self.assertGreater(float(jnp.abs(got - turned).max()), 1e-3)

  def test_other_lengths_and_sizes(self):
    clips = np.zeros((1, 16, 48, 40, 3), np.uint8)
    got = jax.eval_shape(self.model.apply, self.variables, clips)
    self.assertEqual(got.shape, (1, 10))

  @pytest.mark.slow
  def test_learns_motion(self):
    """Left or right: no single frame tells. A few seconds of training."""

    def batch(rng):
      label = rng.integers(0, 2, 16)
      clips = np.zeros((16, 8, 24, 24, 3), np.uint8)
      for i in range(16):
        top, left = rng.integers(0, 16, 2)
        for t in range(8):
          x = (left + 2 * t * (1 if label[i] else -1)) % 18
          clips[i, t, top : top + 6, x : x + 6] = 255
      return clips, label

    optimizer = optax.adam(2e-3)

    @jax.jit
    def step(variables, state, clips, label):
      def loss(variables):
        logits = self.model.apply(variables, clips)
        chosen = jnp.take_along_axis(logits, label[:, None], 1)[:, 0]
        return (jax.nn.logsumexp(logits, axis=1) - chosen).mean()

      value, gradient = jax.value_and_grad(loss)(variables)
      updates, state = optimizer.update(gradient, state)
      return optax.apply_updates(variables, updates), state, value

    rng = np.random.default_rng(0)
    variables = self.variables
    state = optimizer.init(variables)
    losses = []
    for _ in range(120):
      variables, state, value = step(variables, state, *batch(rng))
      losses.append(float(value))
    clips, label = batch(rng)
    answer = np.argmax(self.apply(variables, clips), axis=1)
    self.assertLess(np.mean(losses[-10:]), 0.5)
    self.assertGreater(np.mean(answer == label), 0.8)
