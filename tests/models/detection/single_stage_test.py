"""Dense scores to detections: fixed shapes, best first."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models.detection import single_stage
from models.detection.rules import RULES
from tests.models import drawn


class SingleStageTest(absltest.TestCase):
  def test_fixed_shapes_and_order(self):
    rng = np.random.default_rng(0)
    laid = drawn.boxes(rng, 40)
    scores = rng.uniform(0, 0.2, (2, 40, 3)).astype(np.float32)
    scores[0, 5, 2] = 0.9
    got = jax.jit(
      lambda s: single_stage.detections(
        s,
        jnp.zeros((2, 40, 4)),
        jnp.asarray(laid),
        counts=[30, 10],
        sizes=jnp.array([[100, 100], [50, 60]]),
        most=25,
      )
    )(scores)
    self.assertEqual(got["boxes"].shape, (2, 25, 4))
    self.assertEqual(int(got["classes"][0, 0]), 2)
    want = np.minimum(laid[5], 100)
    np.testing.assert_allclose(got["boxes"][0, 0], want, rtol=1e-6)
    kept = np.where(got["valid"], got["scores"], 0)
    self.assertTrue((np.diff(kept, axis=1) <= 0).all())
    self.assertLessEqual(float(got["boxes"][1, :, 2].max()), 60)

  def test_whole_anchors_are_candidates_of_mmdetection_1(self):
    """The best anchors by their best class, with all their classes."""
    laid = np.array([[0, 0, 9, 9], [50, 50, 59, 59]], np.float32)
    scores = np.array([[[0.9, 0.8], [0.85, 0.1]]], np.float32)

    def kept(rules):
      got = single_stage.detections(
        scores,
        jnp.zeros((1, 2, 4)),
        jnp.asarray(laid),
        counts=[2],
        sizes=jnp.array([[100, 100]]),
        candidates=1,
        most=4,
        rules=RULES[rules],
      )
      return np.asarray(got["scores"][0])[np.asarray(got["valid"][0])].tolist()

    np.testing.assert_allclose(kept("mmdetection1"), [0.9, 0.8])
    np.testing.assert_allclose(kept("mmdetection"), [0.9])
