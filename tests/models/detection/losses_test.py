"""Matching, and a loss that falls towards the truth."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from robust_tfds.models.detection import losses
from tests.models import drawn


class LossesTest(absltest.TestCase):
  def test_matching(self):
    laid = jnp.array([[0, 0, 10, 10], [0, 0, 10, 14], [50, 50, 60, 60.0]])
    box = jnp.array([[0, 0, 10, 10], [100, 100, 110, 110], [0, 0, 0, 0.0]])
    index, label = losses.match(laid, box, jnp.array([3, 5, -1]))
    self.assertEqual(label.tolist(), [3, 3, -1])
    self.assertEqual(index[:2].tolist(), [0, 0])

  def test_loss_falls_towards_the_truth(self):
    rng = np.random.default_rng(0)
    laid = jnp.asarray(drawn.boxes(rng, 50))
    truth, labels = laid[None, :2], jnp.array([[1, 0]])
    one_hot = jax.nn.one_hot(losses.match(laid, truth[0], labels[0])[1], 3)[
      None
    ]
    zero = jnp.zeros((1, 50, 4))

    @jax.jit
    def loss(sharpness):
      logits = sharpness * (2 * one_hot - 1)
      return losses.detection_loss(
        logits, zero, laid, truth, labels, (1.0,) * 4
      )

    self.assertLess(loss(6.0), loss(1.0))
    self.assertLess(loss(1.0), loss(-1.0))

  def test_padding_and_ignored_anchors_do_not_count(self):
    laid = jnp.array([[0, 0, 10, 10], [0, 0, 10, 22], [50, 50, 60, 60.0]])
    box = jnp.array([[0, 0, 10, 10.0]])
    _, label = losses.match(laid, box, jnp.array([2]))
    # IoU 10 / 22 = 0.45 lies between background and object.
    self.assertEqual(label.tolist(), [2, -2, -1])
    _, label = losses.match(laid, box, jnp.array([-1]))
    self.assertEqual(label.tolist(), [-1, -1, -1])
