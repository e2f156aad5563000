"""The small detector that trains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest

from robust_tfds import models
from tests.models import drawn


class TinyTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = models.get("tiny_retinanet")
    cls.variables = drawn.variables(cls.model)
    rng = np.random.default_rng(0)
    cls.images = rng.integers(0, 256, (2, 128, 128, 3), np.uint8)
    cls.sizes = np.array([[128, 100], [96, 128]], np.int32)

  def test_detections(self):
    got = jax.jit(self.model.apply)(self.variables, self.images, self.sizes)
    self.assertEqual(got["boxes"].shape, (2, 20, 4))
    self.assertLessEqual(float(got["boxes"][0, :, 2].max()), 100)
    self.assertLessEqual(float(got["boxes"][1, :, 3].max()), 96)

  @pytest.mark.slow
  def test_loss_falls(self):
    batch = {
      "image": self.images,
      "size": self.sizes,
      "boxes": jnp.array([[[20.0, 20, 50, 60]], [[60.0, 30, 90, 70]]]),
      "labels": jnp.array([[3], [7]]),
    }

    def total(variables, batch):
      losses, _ = self.model.apply_train(variables, batch, jax.random.key(0))
      return sum(losses.values())

    step = jax.jit(jax.value_and_grad(total))
    variables, first = self.variables, None
    for _ in range(8):
      loss, gradient = step(variables, batch)
      first = loss if first is None else first
      norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient)))
      variables = jax.tree.map(
        lambda v, g: v - 0.05 * g / (1 + norm), variables, gradient
      )
    self.assertLess(float(loss), float(first))
