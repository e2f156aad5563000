"""Hybrid Task Cascade, and plain cascades' losses, written out in NumPy."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from flax import nnx

from models.detection import (
  htc,
  labels,
  mask_targets,
  roi_heads,
  train_rules,
)
from models.detection.rules import RULES
from models.detection.truth import Truth
from robust_tfds import models
from tests.models.detection import by_hand

_CANVAS, _SIZE, _FACTOR = (64, 96), (60, 90), 0.5  # of a picture
_STDS = np.array([[0.1, 0.1, 0.2, 0.2], [0.05, 0.05, 0.1, 0.1]])
_STDS = [*_STDS, np.array([0.033, 0.033, 0.067, 0.067])]


def _tiny(kind=htc.Heads) -> roi_heads.RoIHeads:
  """Heads of four channels, all parts random; 1.x's numerics."""
  heads = kind(
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
  """The semantic features of stride 8 of a picture's five levels, and logits."""
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
  logits = by_hand.conv(total, head.conv_logits, relu=False)
  return by_hand.conv(total, head.conv_embedding), logits


def _pooled(levels, semantic, box, bins):
  """Features of a box with those of the semantic branch."""
  side = np.sqrt((box[2] - box[0] + 1) * (box[3] - box[1] + 1))
  level = int(np.clip(np.floor(np.log2(side / 56 + 1e-6)), 0, 3))
  how = 2, False, 1
  own = by_hand.pooled(levels[level], box, 4 << level, bins, *how)
  if semantic is None:
    return own
  more = by_hand.pooled(semantic, box, 8, 14, *how)
  if bins == 7:
    more = more.reshape(7, 2, 7, 2, -1).mean((1, 3))
  return own + more


def _read(heads, stage, features):
  """A box's logits and offset of a stage."""
  x, stage = features.transpose(2, 0, 1).ravel(), str(stage)
  head = getattr(heads.box_head, stage)
  x = by_hand.linear(by_hand.linear(x, head.fc6), head.fc7)
  last = getattr(heads.box_predictor, stage)
  return [
    by_hand.linear(x, layer, relu=False)
    for layer in (last.cls_score, last.bbox_pred)
  ]


def _boxes(heads, levels, semantic, proposals):
  """The last stage's boxes, and the mean of all stages' logits."""
  boxes, total = list(proposals), 0
  for stage in range(3):
    logits = []
    for n, box in enumerate(boxes):
      pooled = _pooled(levels, semantic, box, 7)
      scores, offset = _read(heads, stage, pooled)
      logits.append(scores)
      boxes[n] = by_hand.decoded(offset, box, _STDS[stage], _SIZE)
    total = total + np.array(logits)
  return np.array(boxes), total / 3


def _masks(heads, pooled, output):
  """Logits of each stage's mask; HTC's read the stage before."""
  every, hidden = [], None
  for stage in map(str, range(3)):
    x = pooled
    if hidden is not None and hasattr(heads, "mask_flow"):
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
    every.append(logits[..., output])
  return every


def _matched(regions, objects, overlap):
  """(box, object or None) of proposals and the objects' own boxes."""
  pairs = []
  for box in [*regions, *objects]:
    share = [by_hand.iou(box, other, 1) for other in objects]
    best = int(np.argmax(share))
    pairs.append((box, best if share[best] >= overlap else None))
  return pairs


def _offset(box, other, stds):
  """What moves a box onto another one."""
  side, wanted = box[2:] - box[:2] + 1, other[2:] - other[:2] + 1
  middle = (other[:2] + other[2:] - box[:2] - box[2:]) / 2
  return np.concatenate([middle / side, np.log(wanted / side)]) / stds


def _losses(heads, levels, semantic, proposals, truth):
  """Of one picture, whose regions all learn: nothing is drawn."""
  objects = np.asarray(truth.boxes[0], np.float64)
  labels = np.asarray(truth.labels[0])
  got, regions = {}, list(proposals)
  for i, overlap in enumerate((0.5, 0.6, 0.7)):
    pairs, cross, far, moved = _matched(regions, objects, overlap), [], [], []
    for box, which in pairs:
      logits, offset = _read(heads, i, _pooled(levels, semantic, box, 7))
      output = 0 if which is None else labels[which] + 1
      cross.append(-np.log(by_hand.softmax(logits)[output]))
      if which is not None:
        gap = np.abs(offset - _offset(box, objects[which], _STDS[i]))
        far.append(np.where(gap < 1, gap**2 / 2, gap - 0.5).sum())
      moved.append(by_hand.decoded(offset, box, _STDS[i], _SIZE))
    regions = moved[: -len(objects)]
    if semantic is not None:  # interleaved
      pairs = _matched(regions, objects, overlap)
    own = [(box, which) for box, which in pairs if which is not None]
    targets = mask_targets.box_targets(
      truth,
      np.array([[box for box, _ in own]], np.float32),
      np.array([[which for _, which in own]]),
      bins=28,
      style="rounded",
      canvas=_CANVAS,
    )[0]
    masks = []
    for (box, which), target in zip(own, np.asarray(targets), strict=True):
      pooled = _pooled(levels, semantic, box, 14)
      x = _masks(heads, pooled, labels[which] + 1)[i]
      masks.append((np.logaddexp(0, x) - target * x).mean())
    share = (1, 0.5, 0.25)[i]
    got[f"loss_classifier_{i}"] = share * np.mean(cross)
    got[f"loss_box_reg_{i}"] = share * np.sum(far) / len(cross)
    got[f"loss_mask_{i}"] = share * np.mean(masks)
  return got


def _levels(rng):
  levels = [
    rng.standard_normal((1, 16 >> i, 24 >> i, 4), np.float32) for i in range(4)
  ]
  return [*levels, levels[-1][:, ::2, ::2]]


@pytest.mark.slow
class LossesTest(parameterized.TestCase):
  @parameterized.parameters(htc.Heads, roi_heads.RoIHeads)
  def test_as_written_out(self, kind):
    """Refined boxes, matched anew at .5, .6, .7, with weights 1, .5, .25."""
    heads, rng = _tiny(kind), np.random.default_rng(2)
    levels = _levels(rng)
    objects = np.array(
      [[8.3, 6.1, 40.7, 38.2], [30.6, 20.4, 80.9, 55.8]], np.float32
    )
    near = objects[[0, 0, 1, 1]] + rng.normal(0, 2, (4, 4))
    apart = [[2, 2, 20, 14], [60, 3, 88, 18]]
    proposals = np.clip(np.concatenate([near, apart]), 0, [89, 59] * 2)
    proposals = proposals.astype(np.float32)
    down, across = np.mgrid[: _CANVAS[0], : _CANVAS[1]]
    truth = Truth(
      objects[None],
      np.array([[2, 0]], np.int32),
      np.stack([down + 2 * across < 99, across > down])[None],
      rng.choice([0, 7, 182, 255], (1, *_CANVAS)),
      np.ones((1, 4), np.float32),
      np.array([_SIZE], np.int32),
    )
    truth = Truth(*map(jnp.asarray, truth))
    train = dataclasses.replace(
      train_rules.TRAIN_RULES["mmdetection cascade"], regions=400
    )
    key = jax.random.key(0)
    with jax.default_matmul_precision("highest"):
      got = jax.jit(
        lambda *given: heads.losses(*given, _CANVAS, truth, train, key)
      )(levels, proposals[None], np.ones((1, 6), bool))
    plain, semantic = [level[0] for level in levels], None
    want = {}
    if kind is htc.Heads:
      semantic, logits = _semantic(heads.semantic_head, plain)
      chances = np.log(by_hand.softmax(logits))
      places = [
        -chances[y, x, label]
        for y, x in np.ndindex(8, 12)
        for label in [int(truth.semantic[0, 8 * y, 8 * x])]
        if 8 * y < _SIZE[0] and 8 * x < _SIZE[1] and label != 255
      ]
      want["loss_semantic_seg"] = 0.2 * np.mean(places)
    want |= _losses(heads, plain, semantic, proposals.astype(float), truth)
    self.assertEqual(set(got), set(want))
    for name, value in want.items():
      np.testing.assert_allclose(got[name], value, rtol=1e-4, err_msg=name)


class HeadsTest(absltest.TestCase):
  @pytest.mark.slow
  def test_as_written_out(self):
    heads, rng = _tiny(), np.random.default_rng(1)
    levels = _levels(rng)
    corner = rng.uniform(0, 30, (6, 2))
    ends = corner + rng.uniform(3, 60, (6, 2))
    proposals = np.concatenate([corner, ends], 1).astype(np.float32)
    proposals = np.minimum(proposals, [89, 59, 89, 59]).astype(np.float32)
    given = proposals[None], np.ones((1, 6), bool), np.array([_SIZE], np.int32)
    factor = np.full((1, 4), _FACTOR, np.float32)
    got = jax.jit(lambda *x: heads(*x))(levels, *given, factor)

    plain = [level[0] for level in levels]
    semantic, _ = _semantic(heads.semantic_head, plain)
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
      masks = _masks(heads, pooled, c + 1)
      want = np.mean([1 / (1 + np.exp(-mask)) for mask in masks], 0)
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
