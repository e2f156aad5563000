"""Proposals: thinned within their level, clipped, none without area."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest
from flax import nnx

from models.detection import anchors, proposals
from models.detection.rules import RULES
from tests.models.detection import by_hand


class ThinnedTest(absltest.TestCase):
  def test_best_first_within_levels(self):
    boxes = np.array(
      [
        [0, 0, 10, 10],
        [0, 0, 10, 9],  # the first one again, worse
        [0, 0, 10, 9],  # the same, of another level
        [90, 0, 120, 10],  # beyond the picture in part
        [110, 0, 120, 10],  # beyond it: no area is left
      ],
      np.float32,
    )
    logits = np.array([1, 0, -1, 3, 5], np.float32)
    level = np.array([0, 0, 1, 0, 0], np.int32)
    size = np.array([[50, 100]], np.int32)

    def thinned(logits, boxes):
      each = logits[None], boxes[None], jnp.asarray(level), size
      return proposals.thinned(*each, RULES["torchvision"], 5)

    got, valid = jax.jit(thinned)(logits, boxes)
    np.testing.assert_array_equal(
      np.asarray(got)[np.asarray(valid)],
      [[90, 0, 100, 10], [0, 0, 10, 10], [0, 0, 10, 9]],
    )


class ProposalsTest(absltest.TestCase):
  def test_mmdetection_1_as_written_out(self):
    """Of a picture on a canvas of 32 x 64 px, by `rpn_head.py` of 1.x."""
    rules, size = RULES["mmdetection1"], (30, 60)
    rpn = proposals.Proposals(rules=rules, width=4, rngs=nnx.Rngs(0))
    rng, shapes = np.random.default_rng(0), [(8, 16), (4, 8), (2, 4), (1, 2)]
    shapes.append((1, 1))
    levels = [rng.standard_normal((1, *s, 4), np.float32) for s in shapes]
    for last in (rpn.head.cls_logits, rpn.head.bbox_pred):
      shape = last.kernel.shape
      last.kernel[...] = 0.4 * rng.standard_normal(shape, np.float32)
    sizes = np.array([size], np.int32)
    got, valid = jax.jit(lambda *x: rpn(list(x), (32, 64), sizes))(*levels)

    found = []
    for i, level in enumerate(levels):
      y = by_hand.conv(level[0], getattr(getattr(rpn.head.conv, "0"), "0"))
      logits = by_hand.conv(y, rpn.head.cls_logits, relu=False).ravel()
      offsets = by_hand.conv(y, rpn.head.bbox_pred, relu=False).reshape(-1, 4)
      laid = [shapes[i]], [(32.0 * 2**i,)], (0.5, 1.0, 2.0)
      grid = anchors.grid((32, 64), *laid, strides=[4 << i], rules=rules)
      moved = [
        by_hand.decoded(o, b, np.ones(4), size) for o, b in zip(offsets, grid)
      ]
      chances = 1 / (1 + np.exp(-logits))
      kept = by_hand.best(np.array(moved), chances[:, None], 0, 0.7, 1.0)
      found += [(chances[n], moved[n]) for n, _ in kept]
    found.sort(key=lambda item: -item[0])
    self.assertGreater(len(found), 50)
    self.assertEqual(int(valid.sum()), len(found))
    want = np.array([box for _, box in found])
    np.testing.assert_allclose(got[0, : len(found)], want, atol=1e-3)
