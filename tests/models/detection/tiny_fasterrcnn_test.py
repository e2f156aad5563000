"""The small detector of two stages."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest

from robust_tfds import models
from tests.models import drawn


class TinyFasterTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("tiny_fasterrcnn")
    rng = np.random.default_rng(0)
    cls.images = rng.integers(0, 256, (2, 96, 96, 3), np.uint8)
    cls.sizes = np.array([[96, 70], [80, 96]], np.int32)

  def test_detections(self):
    variables = drawn.variables(self.model)
    got = jax.jit(self.model.apply)(variables, self.images, self.sizes)
    self.assertEqual(got["boxes"].shape, (2, 20, 4))
    self.assertLessEqual(float(got["boxes"][0, :, 2].max()), 70)
    self.assertLessEqual(float(got["boxes"][1, :, 3].max()), 80)

  @pytest.mark.slow
  def test_losses_fall(self):
    batch = {
      "image": self.images,
      "size": self.sizes,
      "boxes": jnp.array([[[20.0, 20, 50, 60]], [[40.0, 30, 70, 70]]]),
      "labels": jnp.array([[3], [7]]),
    }

    @jax.jit
    def step(variables, key):
      def total(variables):
        losses, _ = self.model.apply_train(variables, batch, key)
        return sum(losses.values())

      loss, gradient = jax.value_and_grad(total)(variables)
      norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient)))
      return loss, jax.tree.map(
        lambda v, g: v - 0.05 * g / (1 + norm), variables, gradient
      )

    variables = jax.jit(self.model.init)(jax.random.key(0))
    found = []
    for i in range(12):
      loss, variables = step(variables, jax.random.key(i))
      found.append(float(loss))
    self.assertLess(np.mean(found[-3:]), 0.9 * np.mean(found[:3]))


if __name__ == "__main__":
  absltest.main()
