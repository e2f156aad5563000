"""Hybrid Task Cascade against its forward pass, written out in NumPy."""

import jax
import numpy as np
import pytest
from absl.testing import absltest
from flax import nnx

from robust_tfds import models
from robust_tfds.models.detection import htc, labels
from robust_tfds.models.detection.rules import RULES
from tests.models.detection import by_hand

_SIZE, _FACTOR = (60, 90), 0.5  # of a picture on a canvas of 64 x 96 px
_STDS = np.array([[0.1, 0.1, 0.2, 0.2], [0.05, 0.05, 0.1, 0.1]])
_STDS = [*_STDS, np.array([0.033, 0.033, 0.067, 0.067])]


def _tiny() -> htc.Heads:
  """Heads of four channels, all parts random; 1.x's numerics."""
  heads = htc.Heads(
    labels=labels.table("first", 3),
    rules=RULES["mmdetection1"],
    masks=True,
    stages=3,
    most=8,
    threshold=0.001,
    width=4,
    hidden=6,
    rngs=nnx.Rngs(0),
  )
  rng = np.random.default_rng(0)
  for _, value in nnx.to_flat_state(nnx.state(heads)):
    value[...] = 0.4 * rng.standard_normal(value.shape, np.float32)
  return heads


def _semantic(head, levels):
  """The semantic features of stride 8 of a picture's five levels."""
  total, (rows, columns) = 0, levels[1].shape[:2]
  for i, level in enumerate(levels):
    high, wide = level.shape[:2]
    seen = np.zeros((rows, columns, level.shape[2]))
    for y, x in np.ndindex(rows, columns):
      down, right = y * (high - 1) / (rows - 1), x * (wide - 1) / (columns - 1)
      for a, b in np.ndindex(high, wide):
        weight = max(0, 1 - abs(down - a)) * max(0, 1 - abs(right - b))
        seen[y, x] += weight * level[a, b]
    total = total + by_hand.conv(seen, getattr(head.lateral_convs, str(i)))
  for i in range(4):
    total = by_hand.conv(total, getattr(head.convs, str(i)))
  return by_hand.conv(total, head.conv_embedding)


def _pooled(levels, semantic, box, bins):
  """Features of a box with those of the semantic branch."""
  side = np.sqrt((box[2] - box[0] + 1) * (box[3] - box[1] + 1))
  level = int(np.clip(np.floor(np.log2(side / 56 + 1e-6)), 0, 3))
  how = 2, False, 1
  own = by_hand.pooled(levels[level], box, 4 << level, bins, *how)
  more = by_hand.pooled(semantic, box, 8, 14, *how)
  if bins == 7:
    more = more.reshape(7, 2, 7, 2, -1).mean((1, 3))
  return own + more


def _boxes(heads, levels, semantic, proposals):
  """The last stage's boxes, and the mean of all stages' logits."""
  boxes, total = list(proposals), 0
  for stage in map(str, range(3)):
    logits = []
    for n, box in enumerate(boxes):
      x = _pooled(levels, semantic, box, 7).transpose(2, 0, 1).ravel()
      head = getattr(heads.box_head, stage)
      x = by_hand.linear(by_hand.linear(x, head.fc6), head.fc7)
      last = getattr(heads.box_predictor, stage)
      logits.append(by_hand.linear(x, last.cls_score, relu=False))
      offset = by_hand.linear(x, last.bbox_pred, relu=False)
      boxes[n] = by_hand.decoded(offset, box, _STDS[int(stage)], _SIZE)
    total = total + np.array(logits)
  return np.array(boxes), total / 3


def _mask(heads, pooled, output):
  """The mean of the stages' masks, each of which reads the one before."""
  total, hidden = 0, None
  for stage in map(str, range(3)):
    x = pooled
    if hidden is not None:
      x = x + by_hand.conv(hidden, getattr(heads.mask_flow, stage))
    for i in range(4):
      block = getattr(getattr(heads.mask_head, stage), str(i))
      x = by_hand.conv(x, getattr(block, "0"))
    hidden, last = x, getattr(heads.mask_predictor, stage)
    kernel = np.asarray(last.conv5_mask.kernel[...])
    large = np.zeros((28, 28, kernel.shape[2]))
    for a, b in np.ndindex(2, 2):
      large[a::2, b::2] = x @ kernel[a, b].T
    large = np.maximum(large + np.asarray(last.conv5_mask.bias[...]), 0)
    logits = by_hand.conv(large, last.mask_fcn_logits, relu=False)
    total = total + 1 / (1 + np.exp(-logits[..., output]))
  return total / 3


class HeadsTest(absltest.TestCase):
  def test_as_written_out(self):
    heads, rng = _tiny(), np.random.default_rng(1)
    levels = [
      rng.standard_normal((1, 16 >> i, 24 >> i, 4), np.float32)
      for i in range(4)
    ]
    levels.append(levels[-1][:, ::2, ::2])
    corner = rng.uniform(0, 30, (6, 2))
    ends = corner + rng.uniform(3, 60, (6, 2))
    proposals = np.concatenate([corner, ends], 1).astype(np.float32)
    proposals = np.minimum(proposals, [89, 59, 89, 59]).astype(np.float32)
    given = proposals[None], np.ones((1, 6), bool), np.array([_SIZE], np.int32)
    factor = np.full((1, 4), _FACTOR, np.float32)
    got = jax.jit(lambda *x: heads(*x))(levels, *given, factor)

    plain = [level[0] for level in levels]
    semantic = _semantic(heads.semantic_head, plain)
    boxes, logits = _boxes(heads, plain, semantic, proposals)
    scores = by_hand.softmax(logits)[:, 1:]  # the background is first
    kept = by_hand.best(boxes, scores, 0.001, 0.5, _FACTOR)[:8]
    self.assertGreater(len(kept), 5)
    self.assertEqual(int(got["valid"].sum()), len(kept))
    for i, (n, c) in enumerate(kept):
      self.assertEqual(int(got["classes"][0, i]), c)
      np.testing.assert_allclose(got["scores"][0, i], scores[n, c], rtol=1e-3)
      np.testing.assert_allclose(got["boxes"][0, i], boxes[n], atol=2e-3)
      pooled = _pooled(plain, semantic, boxes[n], 14)
      want = _mask(heads, pooled, c + 1)
      np.testing.assert_allclose(got["masks"][0, i], want, atol=1e-3)
    self.assertGreater(np.std(want), 1e-3)


class NamesTest(absltest.TestCase):
  def test_the_first_stages_flow_is_left_out(self):
    (pattern,) = htc.FAMILY.ignored
    self.assertRegex("mask_head.0.conv_res.conv.weight", pattern)
    self.assertNotRegex("roi_head.mask_head.1.conv_res.conv.bias", pattern)


@pytest.mark.slow
class CountsTest(absltest.TestCase):
  def test_more_than_a_cascade(self):
    """Two flows, five laterals, an embedding, four 3 x 3 and the logits."""
    more = (2 + 5 + 1) * 257 * 256 + 4 * (9 * 256 + 1) * 256 + 257 * 183
    for end in ("resnet50_fpn_mmdet", "resnext101_64x4d_dconv_fpn_mmdet1"):
      plain = models.get(f"cascademaskrcnn_{end}").count_parameters()
      got = models.get(f"htc_{end}").count_parameters()
      self.assertEqual(got, plain + more)
