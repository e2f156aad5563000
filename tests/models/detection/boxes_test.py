"""Boxes and their suppression against plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from models.detection import boxes
from models.detection.rules import RULES
from tests.models import drawn
from tests.models.detection import by_hand


class BoxesTest(parameterized.TestCase):
  def test_overlap(self):
    rng = np.random.default_rng(0)
    one, two = drawn.boxes(rng, 7), drawn.boxes(rng, 9)
    want = [[by_hand.iou(a, b) for b in two] for a in one]
    np.testing.assert_allclose(boxes.iou(one, two), want, rtol=1e-5)
    want = [[by_hand.iou(a, b, 1) for b in two] for a in one]
    np.testing.assert_allclose(boxes.iou(one, two, 1.0), want, rtol=1e-5)
    empty = jnp.zeros((1, 4))
    self.assertEqual(float(boxes.iou(empty, empty)[0, 0]), 0.0)

  def test_coding_there_and_back(self):
    rng = np.random.default_rng(0)
    one, two = drawn.boxes(rng, 20), drawn.boxes(rng, 20)
    weights = (10.0, 10.0, 5.0, 5.0)
    code = boxes.encode(one, two, weights)
    np.testing.assert_allclose(boxes.decode(code, two, weights), one, atol=1e-3)
    rules = RULES["mmdetection1"]
    code = boxes.encode(one, two, weights, rules.edge)
    back = boxes.decode(code, two, weights, rules)
    np.testing.assert_allclose(back, one, atol=1e-3)
    huge = boxes.decode(jnp.full((1, 4), 1e9), two[:1], weights)
    self.assertTrue(np.isfinite(np.asarray(huge)[0, :2]).all())

  def test_clipping(self):
    got = boxes.clip(jnp.array([[-5.0, -1, 300, 40]]), jnp.array([50, 200]))
    np.testing.assert_array_equal(got, [[0, 0, 200, 40]])

    got = boxes.clip(
      jnp.array([[-5.0, -1, 300, 90]]), jnp.array([50, 200]), 1.0
    )
    np.testing.assert_array_equal(got, [[0, 0, 199, 49]])

  def test_coding_of_last_pixels(self):
    """mmdetection 1.x's `delta2bbox`, by hand."""
    anchor = np.array([[10.0, 20, 29, 59]], np.float32)  # 20 x 40 px
    offsets = np.array([[0.1, -0.2, np.log(2), -9]], np.float32)
    rules = RULES["mmdetection1"]
    got = boxes.decode(offsets, anchor, (1.0, 1.0, 1.0, 1.0), rules)
    # Centre 19.5 + 2 and 39.5 - 8; sides 40 and 40 * 16 / 1000, the least.
    want = [[2, 31.5 - 0.32 + 0.5, 41, 31.5 + 0.32 - 0.5]]
    np.testing.assert_allclose(got, want, rtol=1e-5)
    huge = np.array([[0, 0, 9, 9]], np.float32)
    got = boxes.decode(huge, anchor, (1.0, 1.0, 1.0, 1.0), rules)
    np.testing.assert_allclose(got[0, 2] - got[0, 0] + 1, 20 * 62.5, rtol=1e-5)

  @parameterized.parameters(0, 1, 2)
  def test_suppression(self, seed):
    rng = np.random.default_rng(seed)
    box = drawn.boxes(rng, 60, 60)
    score = np.round(rng.random(60), 1).astype(np.float32)  # with ties
    label = rng.integers(0, 3, 60)
    valid = rng.random(60) < 0.8
    edge = [0.0, 1.0, 2.5][seed]
    want = []
    for i in np.argsort(-score, kind="stable"):
      if valid[i] and not any(
        label[i] == label[j] and by_hand.iou(box[i], box[j], edge) > 0.4
        for j in want
      ):
        want.append(i)
    index, kept = jax.jit(
      lambda *a: boxes.suppress(*a, threshold=0.4, most=30, edge=edge)
    )(box, score, label, valid)
    self.assertEqual(np.asarray(index)[np.asarray(kept)].tolist(), want[:30])
