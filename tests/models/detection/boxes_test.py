"""Boxes and their suppression against plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds.models.detection import boxes
from tests.models import drawn


def _iou(a, b):
  both = np.prod(
    np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0, None)
  )
  areas = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2])
  return both / (areas - both)


class BoxesTest(parameterized.TestCase):
  def test_overlap(self):
    rng = np.random.default_rng(0)
    one, two = drawn.boxes(rng, 7), drawn.boxes(rng, 9)
    want = [[_iou(a, b) for b in two] for a in one]
    np.testing.assert_allclose(boxes.iou(one, two), want, rtol=1e-5)
    empty = jnp.zeros((1, 4))
    self.assertEqual(float(boxes.iou(empty, empty)[0, 0]), 0.0)

  def test_coding_there_and_back(self):
    rng = np.random.default_rng(0)
    one, two = drawn.boxes(rng, 20), drawn.boxes(rng, 20)
    weights = (10.0, 10.0, 5.0, 5.0)
    code = boxes.encode(one, two, weights)
    np.testing.assert_allclose(boxes.decode(code, two, weights), one, atol=1e-3)
    huge = boxes.decode(jnp.full((1, 4), 1e9), two[:1], weights)
    self.assertTrue(np.isfinite(np.asarray(huge)[0, :2]).all())

  def test_clipping(self):
    got = boxes.clip(jnp.array([[-5.0, -1, 300, 40]]), jnp.array([50, 200]))
    np.testing.assert_array_equal(got, [[0, 0, 200, 40]])

  @parameterized.parameters(0, 1, 2)
  def test_suppression(self, seed):
    rng = np.random.default_rng(seed)
    box = drawn.boxes(rng, 60, 60)
    score = np.round(rng.random(60), 1).astype(np.float32)  # with ties
    label = rng.integers(0, 3, 60)
    valid = rng.random(60) < 0.8
    want = []
    for i in np.argsort(-score, kind="stable"):
      if valid[i] and not any(
        label[i] == label[j] and _iou(box[i], box[j]) > 0.4 for j in want
      ):
        want.append(i)
    index, kept = jax.jit(
      lambda *a: boxes.suppress(*a, threshold=0.4, most=30)
    )(box, score, label, valid)
    self.assertEqual(np.asarray(index)[np.asarray(kept)].tolist(), want[:30])
