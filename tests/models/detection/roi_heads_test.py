"""Parts of the second stage against loops."""

import jax
import numpy as np
from absl.testing import absltest
from flax import nnx

from models.detection import labels, roi_heads
from models.detection.rules import RULES
from tests.models.detection import by_hand


class EnlargeTest(absltest.TestCase):
  def test_enlarging_is_a_transposed_convolution(self):
    layer = roi_heads.Enlarge(3, 2, rngs=nnx.Rngs(0))
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 3), np.float32)
    got, kernel = np.asarray(layer(x)), np.asarray(layer.kernel[...])
    want = np.zeros((1, 4, 6, 2))
    for i, j, a, b in np.ndindex(2, 3, 2, 2):
      want[0, 2 * i + a, 2 * j + b] = kernel[a, b] @ x[0, i, j]
    np.testing.assert_allclose(got, want, atol=1e-5)


class OneStageTest(absltest.TestCase):
  def test_mmdetection_1_has_a_box_for_each_output(self):
    """Also for the background, which is the first; written out in NumPy."""
    heads = roi_heads.RoIHeads(
      labels=labels.table("first", 3),
      rules=RULES["mmdetection1"],
      masks=False,
      stages=1,
      most=10,
      threshold=0.05,
      width=4,
      hidden=6,
      rngs=nnx.Rngs(0),
    )
    rng, size = np.random.default_rng(0), (60, 90)
    for last in (heads.box_predictor.cls_score, heads.box_predictor.bbox_pred):
      shape = last.kernel.shape
      last.kernel[...] = 0.4 * rng.standard_normal(shape, np.float32)
    levels = [
      rng.standard_normal((1, 16 >> i, 24 >> i, 4), np.float32)
      for i in (0, 1, 2, 3, 3)
    ]
    corner = rng.uniform(0, 40, (5, 2))
    ends = np.minimum(corner + rng.uniform(5, 50, (5, 2)), [89, 59])
    boxes = np.concatenate([corner, ends], 1).astype(np.float32)
    valid = np.array([[True, True, True, True, False]])
    factor = np.full((1, 4), 2.0, np.float32)
    sizes = np.array([size], np.int32)
    given = levels, boxes[None], valid, sizes, factor
    got = jax.jit(lambda *x: heads(*x))(*given)

    scores, moved = [], []
    for box in boxes[:4]:
      x = by_hand.pooled(levels[0][0], box, 4, 7, 2, False, 1)
      x = by_hand.linear(x.transpose(2, 0, 1).ravel(), heads.box_head.fc6)
      x = by_hand.linear(x, heads.box_head.fc7)
      last = heads.box_predictor
      logits = by_hand.linear(x, last.cls_score, relu=False)
      scores.append(by_hand.softmax(logits)[1:])
      offsets = by_hand.linear(x, last.bbox_pred, relu=False).reshape(4, 4)
      stds = np.array([0.1, 0.1, 0.2, 0.2])
      moved.append([by_hand.decoded(o, box, stds, size) for o in offsets[1:]])
    best = np.dstack(np.unravel_index(np.argsort(-np.ravel(scores)), (4, 3)))[0]
    kept: list[tuple[int, int]] = []
    for n, c in best.tolist():
      beaten = (
        c == k and by_hand.iou(2 * moved[n][c], 2 * moved[m][k], 1) > 0.5
        for m, k in kept
      )
      if scores[n][c] > 0.05 and not any(beaten):
        kept.append((n, c))
    kept = kept[:10]
    self.assertEqual(int(got["valid"].sum()), len(kept))
    self.assertGreater(len(kept), 5)
    for i, (n, c) in enumerate(kept):
      self.assertEqual(int(got["classes"][0, i]), c)
      np.testing.assert_allclose(got["scores"][0, i], scores[n][c], rtol=1e-4)
      np.testing.assert_allclose(got["boxes"][0, i], moved[n][c], atol=1e-3)
