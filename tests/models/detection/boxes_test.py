"""Boxes, anchors, suppression and matching against plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds.models.detection import anchors
from robust_tfds.models.detection import boxes
from robust_tfds.models.detection import losses
from robust_tfds.models.detection import single_stage


def _boxes(rng, n, side=100):
  corner = rng.uniform(0, side - 20, (n, 2))
  size = rng.uniform(4, 40, (n, 2))
  return np.concatenate([corner, corner + size], 1).astype(np.float32)


def _iou(a, b):
  both = np.prod(
    np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0, None)
  )
  areas = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2])
  return both / (areas - both)


class BoxesTest(parameterized.TestCase):
  def test_overlap(self):
    rng = np.random.default_rng(0)
    one, two = _boxes(rng, 7), _boxes(rng, 9)
    want = [[_iou(a, b) for b in two] for a in one]
    np.testing.assert_allclose(boxes.iou(one, two), want, rtol=1e-5)
    empty = jnp.zeros((1, 4))
    self.assertEqual(float(boxes.iou(empty, empty)[0, 0]), 0.0)

  def test_coding_there_and_back(self):
    rng = np.random.default_rng(0)
    one, two = _boxes(rng, 20), _boxes(rng, 20)
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
    box = _boxes(rng, 60, 60)
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


class AnchorsTest(absltest.TestCase):
  def test_grid(self):
    got = anchors.grid(
      (64, 32), ((8, 4), (4, 2)), ((16.0,), (32.0, 40.0)), (1.0, 2.0)
    )
    self.assertEqual(got.shape, (8 * 4 * 2 + 4 * 2 * 4, 4))
    np.testing.assert_array_equal(got[0], [-8, -8, 8, 8])
    np.testing.assert_array_equal(got[2], [0, -8, 16, 8])  # one step right
    self.assertGreater(got[1, 3] - got[1, 1], got[1, 2] - got[1, 0])

  def test_matching(self):
    laid = jnp.array([[0, 0, 10, 10], [0, 0, 10, 14], [50, 50, 60, 60.0]])
    box = jnp.array([[0, 0, 10, 10], [100, 100, 110, 110], [0, 0, 0, 0.0]])
    index, label = losses.match(laid, box, jnp.array([3, 5, -1]))
    self.assertEqual(label.tolist(), [3, 3, -1])
    self.assertEqual(index[:2].tolist(), [0, 0])

  def test_loss_falls_towards_the_truth(self):
    rng = np.random.default_rng(0)
    laid = jnp.asarray(_boxes(rng, 50))
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


class SingleStageTest(absltest.TestCase):
  def test_fixed_shapes_and_order(self):
    rng = np.random.default_rng(0)
    laid = _boxes(rng, 40)
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


if __name__ == "__main__":
  absltest.main()
