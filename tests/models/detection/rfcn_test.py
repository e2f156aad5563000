"""R-FCN: its anchors, and its head against a forward pass written out."""

import dataclasses
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest

from models.detection import rfcn, train_rules
from models.detection.truth import Truth
from robust_tfds import models
from tests.models import drawn
from tests.models.detection import by_hand

# Of py-faster-rcnn's generate_anchors.py, as its comment prints them, from 0.
_ANCHORS = (
  (-84, -40, 99, 55),
  (-176, -88, 191, 103),
  (-360, -184, 375, 199),
  (-56, -56, 71, 71),
  (-120, -120, 135, 135),
  (-248, -248, 263, 263),
  (-36, -80, 51, 95),
  (-80, -168, 95, 183),
  (-168, -344, 183, 359),
)


def _voted(maps, box):
  """The mean of a box's 49 bins, each of its own maps."""
  height, width, channels = maps.shape
  start, end = np.round(box[:2]) / 16, (np.round(box[2:]) + 1) / 16
  step = np.maximum(end - start, 0.1) / 7
  total = np.zeros(channels // 49)
  for i, j, c in np.ndindex(7, 7, channels // 49):
    top, left = np.floor(start[::-1] + step[::-1] * [i, j]).astype(int)
    down, right = np.ceil(start[::-1] + step[::-1] * [i + 1, j + 1]).astype(int)
    part = maps[max(top, 0) : down, max(left, 0) : right, (c * 7 + i) * 7 + j]
    total[c] += part.mean() / 49 if part.size else 0
  return total


def _proposals(network, features, size):
  """Of one picture: boxes that are left of all anchors, best first."""
  scores = by_hand.conv(features, network.rpn_cls_score, relu=False)
  offsets = by_hand.conv(features, network.rpn_bbox_pred, relu=False)
  boxes, chances = [], []
  stds = np.array([0.1, 0.1, 0.4, 0.4])
  for y, x, a in np.ndindex(size[0] // 16, size[1] // 16, 9):
    anchor = np.array(_ANCHORS[a]) + 16 * np.array([x, y, x, y])
    offset = offsets[y, x, 4 * a : 4 * a + 4]
    boxes.append(by_hand.decoded(offset, anchor, stds, size))
    chances.append(by_hand.softmax(scores[y, x, [a, a + 9]])[1])
  boxes = np.array(boxes)
  kept = by_hand.best(boxes, np.array(chances)[:, None], 0, 0.7, 1.0)
  return boxes[[n for n, _ in kept]][:300]


def _far(offset, box, other, stds):
  """Smooth L1 of an offset from what moves a box onto another one."""
  side, wanted = box[2:] - box[:2] + 1, other[2:] - other[:2] + 1
  middle = (other[:2] + other[2:] - box[:2] - box[2:]) / 2
  moves = np.concatenate([middle / side, np.log(wanted / side)]) / stds
  gap = np.abs(offset - moves)
  return np.where(gap < 1, gap**2 / 2, gap - 0.5).sum()


def _losses(network, features, objects, labels, size):
  """Of one picture's features."""
  first, second = features[..., :512], features[..., 512:]
  scores = by_hand.conv(first, network.rpn_cls_score, relu=False)
  offsets = by_hand.conv(first, network.rpn_bbox_pred, relu=False)
  inside = []
  for y, x, a in np.ndindex(*features.shape[:2], 9):
    anchor = np.array(_ANCHORS[a]) + 16 * np.array([x, y, x, y])
    if (anchor >= 0).all() and (anchor[2:] < np.array(size[::-1])).all():
      logit = scores[y, x, a + 9] - scores[y, x, a]
      inside.append((anchor, logit, offsets[y, x, 4 * a : 4 * a + 4]))
  share = np.array(
    [[by_hand.iou(anchor, box, 1) for box in objects] for anchor, *_ in inside]
  )
  near = (share == share.max(0)).any(1)
  cross, far = [], []
  for (anchor, logit, offset), one, is_near in zip(inside, share, near):
    if one.max() >= 0.7 or is_near:
      cross.append(np.logaddexp(0, -logit))
      stds = np.array([0.1, 0.1, 0.4, 0.4])
      far.append(_far(offset, anchor, objects[one.argmax()], stds))
    elif one.max() < 0.3:
      cross.append(np.logaddexp(0, logit))
  got = {
    "loss_objectness": np.mean(cross),
    "loss_rpn_box_reg": np.sum(far) / len(cross),
  }
  maps = [
    by_hand.conv(second, layer, relu=False)
    for layer in (network.rfcn_cls, network.rfcn_bbox)
  ]
  hard = []
  for box in [*_proposals(network, first, size), *objects]:
    share = [by_hand.iou(box, other, 1) for other in objects]
    which = int(np.argmax(share)) if max(share) >= 0.5 else None
    output = 0 if which is None else labels[which] + 1
    crossed = -np.log(by_hand.softmax(_voted(maps[0], box))[output])
    moved = 0.0
    if which is not None:
      stds = np.array([0.1, 0.1, 0.2, 0.2])
      moved = _far(_voted(maps[1], box)[4:], box, objects[which], stds)
    hard.append((crossed, moved))
  hardest = sorted(hard, key=sum)[-128:]
  got["loss_classifier"], got["loss_box_reg"] = np.mean(hardest, 0)
  return got


class AnchorsTest(absltest.TestCase):
  def test_as_printed(self):
    np.testing.assert_array_equal(rfcn._cell(), _ANCHORS)


class NamesTest(absltest.TestCase):
  def test_what_one_frame_does_not_need(self):
    """The flow network, the embedding, and what training keeps."""
    ignored = "|".join(rfcn.FAMILY.ignored)
    for name in (
      *("em_conv1_weight", "arg:flow_conv1_bias", "conv2_weight"),
      *("Convolution5_bias", "rfcn_bbox_weight_test", "deconv4_weight"),
    ):
      self.assertRegex(name, ignored)
    for name in (
      *("conv1_weight", "bn_conv1_gamma", "arg:res2a_branch2a_weight"),
      *("feat_conv_3x3_weight", "rpn_cls_score_bias", "rfcn_bbox_weight"),
    ):
      self.assertNotRegex(name, ignored)


@pytest.mark.slow
class NetworkTest(absltest.TestCase):
  def test_head_as_written_out(self):
    model = models.get("rfcn_resnet101", 3).with_fields({"short_px": 0})
    variables = jax.tree.map(lambda x: x, drawn.variables(model))
    for name in ("rpn_bbox_pred", "rfcn_bbox"):
      variables[name]["kernel"] *= 0.1
    network, rng = model.merge(variables), np.random.default_rng(0)
    size = (90, 120)  # of a picture on a canvas of 96 x 128 px
    body = rng.standard_normal((1, 6, 8, 2048), np.float32)
    network.body = lambda x: [body]
    sizes = np.array([size], np.int32)
    factor = np.full((1, 4), 0.5, np.float32)
    canvas = np.zeros((1, 96, 128, 3), np.float32)
    with jax.default_matmul_precision("highest"):
      got = network(canvas, sizes, factor)

    features = by_hand.conv(body[0], network.feat_conv_3x3)
    boxes = _proposals(network, features[..., :512], size)
    half = features[..., 512:]
    maps = [
      by_hand.conv(half, layer, relu=False)
      for layer in (network.rfcn_cls, network.rfcn_bbox)
    ]
    scores = by_hand.softmax(np.array([_voted(maps[0], b) for b in boxes]))
    stds = np.array([0.1, 0.1, 0.2, 0.2])
    offsets = np.array([_voted(maps[1], b)[4:] for b in boxes])
    better = [
      by_hand.decoded(o, b, stds, size)
      for o, b in zip(offsets, boxes, strict=True)
    ]
    kept = by_hand.best(np.array(better), scores[:, 1:], 1e-3, 0.3, 0.5)
    self.assertGreater(len(kept), 10)
    self.assertEqual(int(got["valid"].sum()), len(kept))
    for i, (n, c) in enumerate(kept):
      self.assertEqual(int(got["classes"][0, i]), c)
      np.testing.assert_allclose(
        got["scores"][0, i], scores[n, c + 1], rtol=1e-3
      )
      np.testing.assert_allclose(got["boxes"][0, i], better[n], atol=1e-2)

  def test_losses_as_written_out(self):
    """All anchors inside the picture learn, and the 128 hardest regions."""
    model = models.get("rfcn_resnet101", 3)
    variables = jax.tree.map(lambda x: x, drawn.variables(model))
    for name in ("rpn_bbox_pred", "rfcn_bbox"):
      variables[name]["kernel"] *= 0.1
    network, rng = model.merge(variables), np.random.default_rng(3)
    size, features = (200, 205), rng.standard_normal((1, 13, 13, 1024))
    features = features.astype(np.float32)
    network._features = lambda x: (x[..., :512], x[..., 512:])
    objects = np.array([[20.3, 30.1, 110.7, 190.2], [60.6, 40.4, 180.9, 125.8]])
    labels = np.array([2, 0])
    truth = Truth(
      *map(jnp.asarray, (objects[None].astype(np.float32), labels[None])),
      *(None, None, jnp.ones((1, 4)), jnp.array([size])),
    )
    every = dataclasses.replace(train_rules.TRAIN_RULES["fgfa"], anchors=10**6)
    with (
      jax.default_matmul_precision("highest"),
      mock.patch.dict(train_rules.TRAIN_RULES, {"fgfa": every}),
    ):
      got = network.losses(jnp.asarray(features), truth, jax.random.key(0))
    want = _losses(network, features[0], objects, labels, size)
    self.assertEqual(set(got), set(want))
    for name, value in want.items():
      self.assertGreater(value, 0)
      np.testing.assert_allclose(got[name], value, rtol=1e-4, err_msg=name)

  def test_shapes_and_count(self):
    model = models.get("rfcn_resnet101")
    # ResNet-101 without its head, and five convolutions.
    body = models.get("resnet101").count_parameters() - 1000 * 2049
    more = 1024 * (9 * 2048 + 1) + 513 * (9 * 2 + 9 * 4 + 49 * 31 + 49 * 8)
    self.assertEqual(model.count_parameters(), body + more)
    stage = model.merge(drawn.variables(model)).body
    got = jax.eval_shape(
      stage, jax.ShapeDtypeStruct((1, 64, 96, 3), np.float32)
    )
    self.assertEqual(got[-1].shape, (1, 4, 6, 2048))  # stride 16, not 32
