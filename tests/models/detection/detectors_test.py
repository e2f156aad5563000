"""Detectors: their networks and rules."""

import dataclasses
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from flax import nnx
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from models import adapters
from models import variables as variables_lib
from models.detection import (
  backbone,
  detector,
  rfcn,
  rules,
  single_stage,
  train_rules,
)
from models.detection.detector import DetectorSpec as detector_DetectorSpec
from models.detection.rules import RULES
from models.detection.spec import DetectorSpec
from models.detection.truth import Truth
from models.family import Family
from models.spec import Variant
from robust_tfds import errors, models
from robust_tfds.coco import rle
from tests import quick
from tests.models import drawn
from tests.models.detection import by_hand


class DetectorTest(parameterized.TestCase):
  """Detectors: their losses, and batches that are refused before any work."""

  def test_all_are_trained(self):
    for name in models.names(kind="detection"):
      model = models.get(name)
      self.assertIsInstance(model, detector.Detector)
      self.assertTrue(model.trainable, name)

  def test_last_pixels_become_borders_in_the_pictures_pixels(self):
    """Boxes of mmdetection 1.x end on their last pixel; ours on a border."""

    class Fixed(detector.DetectorNetwork):
      def __init__(self, *, rules, num_classes, rngs):
        del num_classes, rngs
        self.rules = RULES[rules]

      def __call__(self, x, sizes, factor):
        boxes = np.array([[[2.0, 4.0, 9.0, 19.0], [0, 0, 31, 63]]], np.float32)
        return {"boxes": boxes, "factor": factor}

    spec = DetectorSpec(short_px=32, long_px=64, num_classes=2)
    for name, edge in (("mmdetection", 0), ("mmdetection1", 1)):
      variant = Variant(spec, {"rules": name})
      part_of = Family(Fixed, {"fixed": variant})
      model = detector.Detector("fixed", spec, variant, part_of)
      images = np.zeros((1, 32, 16, 3), np.uint8)  # becomes twice as large
      got = model.apply({}, images, np.array([[32, 16]], np.int32))
      np.testing.assert_allclose(got["factor"], [[0.5] * 4])
      want = [[1, 2, 4.5 + edge, 9.5 + edge], [0, 0, min(15.5 + edge, 16), 0]]
      want[1][3] = min(31.5 + edge, 32)
      np.testing.assert_allclose(got["boxes"][0], want)


def _batch(model, rng):
  """Two pictures on a canvas of 64 x 96 px, the second without an object."""
  masks = {"masks": rng.random((2, 3, 64, 96)) > 0.5}
  stuff = {"semantic": rng.integers(0, 256, (2, 64, 96))}
  return {
    "image": rng.integers(0, 256, (2, 64, 96, 3), np.uint8),
    "size": np.array([[64, 90], [60, 96]], np.int32),
    "boxes": drawn.boxes(rng, 6, 60).reshape(2, 3, 4),
    "labels": np.array([[1, model.spec.num_classes - 1, -1], [-1] * 3]),
    **(masks if "mask" in model.name or "htc" in model.name else {}),
    **(stuff if "htc" in model.name else {}),
  }


class TrainTest(parameterized.TestCase):
  def test_what_it_learns_from_is_checked(self):
    model = models.get("tiny_retinanet")
    batch, key = _batch(model, np.random.default_rng(0)), jax.random.key(0)
    keys = ("image", "size", "boxes")
    with self.assertRaisesRegex(ValueError, "without labels, which it learns"):
      model.apply_train({}, {k: batch[k] for k in keys}, key)
    with self.assertRaisesRegex(
      ValueError, "apply_train got 'x', expected one"
    ):
      model.apply_train({}, batch, "x")

  def test_frozen_paths(self):
    """torchvision's ResNet without its last three stages; all its norms."""
    model = models.get("fasterrcnn_resnet50_fpn")
    norms = model.frozen_paths()
    self.assertLen(norms, 53 * 2)
    self.assertEmpty(model.frozen_paths(frozen_norms=False))
    two = model.frozen_paths(stages=2)
    self.assertLen(two - norms, 1 + 3 * 3 + 1)  # kernels of conv1 and layer1
    self.assertIn(("backbone", "body", "conv1", "kernel"), two)
    self.assertNotIn(
      ("backbone", "body", "layer2", "0", "conv1", "kernel"), two
    )
    # mmdetection learns scales and offsets of the stages that are not frozen.
    model = models.get("fasterrcnn_resnet50_fpn_mmdet1")
    self.assertEmpty(model.frozen_paths())
    self.assertLen(model.frozen_paths(stages=2), 11 * 3)
    self.assertLen(models.get("tiny_fasterrcnn").frozen_paths(stages=1), 4)
    with self.assertRaisesRegex(
      ValueError, "fasterrcnn_resnet50_fpn: got 6 stages"
    ):
      models.get("fasterrcnn_resnet50_fpn").frozen_paths(stages=6)

  @pytest.mark.slow
  def test_a_batch_may_have_no_place_for_an_object(self):
    """Its losses are those of a batch with places that are empty."""
    model = models.get("tiny_retinanet")
    batch = _batch(model, np.random.default_rng(0))
    none = {
      "boxes": np.zeros((2, 0, 4), np.float32),
      "labels": np.zeros((2, 0), np.int32),
    }
    empty = {**batch, "labels": np.full((2, 3), -1)}
    variables, key = drawn.variables(model), jax.random.key(0)
    got, _ = model.apply_train(variables, {**batch, **none}, key)
    want, _ = model.apply_train(variables, empty, key)
    jax.tree.map(np.testing.assert_array_equal, got, want)

  @quick.cases(["tiny_fasterrcnn"], ["tiny_retinanet"])
  @pytest.mark.slow
  def test_gradients_are_finite_where_there_is_no_object(self, name):
    model = models.get(name)
    variables = drawn.variables(model)
    batch = _batch(model, np.random.default_rng(0))

    @jax.jit
    def step(variables, batch):
      def total(variables):
        losses, moved = model.apply_train(variables, batch, jax.random.key(0))
        return sum(losses.values()), (losses, moved)

      return jax.grad(total, has_aux=True)(variables)

    for labels in (batch["labels"], np.full((2, 3), -1)):
      gradient, (losses, moved) = step(variables, {**batch, "labels": labels})
      for path, leaf in variables_lib.flatten(gradient).items():
        self.assertTrue(np.isfinite(leaf).all(), path)
      jax.tree.map(np.testing.assert_array_equal, moved, variables)
      boxes = [float(x) for key, x in losses.items() if "box" in key]
      self.assertEqual(all(boxes), bool((labels >= 0).any()))

  @parameterized.parameters(
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_mmdet",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_mdconv_fpn_mmdet",
    "cascademaskrcnn_resnet50_fpn_mmdet",
    "htc_resnet50_dconv_fpn_mmdet1",
    "rfcn_resnet101",
  )
  @pytest.mark.slow
  def test_losses_of_every_kind(self, name):
    """Traced alone; their names."""
    model = models.get(name).with_fields({"short_px": 64, "long_px": 96})
    batch = _batch(model, np.random.default_rng(0))
    got, moved = jax.eval_shape(
      model.apply_train, drawn.abstract(model), batch, jax.random.key(0)
    )
    self.assertEqual(moved, drawn.abstract(model))
    self.assertEqual({x.shape for x in got.values()}, {()})
    want = {"classification", "bbox_regression"}
    if not name.startswith("retinanet"):
      want = {"loss_classifier", "loss_box_reg"}
      want |= {"loss_mask"} if "masks" in batch else set()
      if name.startswith(("cascade", "htc")):
        want = {f"{loss}_{i}" for loss in want for i in range(3)}
      want |= {"loss_objectness", "loss_rpn_box_reg"}
      want |= {"loss_semantic_seg"} if "semantic" in batch else set()
    self.assertEqual(set(got), want)


@pytest.mark.slow
class ShardedTest(parameterized.TestCase):
  @parameterized.parameters(
    "fasterrcnn_resnet50_mdconv_fpn_mmdet",
    "htc_resnet50_dconv_fpn_mmdet1",
    "retinanet_resnet50_fpn_mmdet1",
    "rfcn_resnet101",
  )
  def test_every_kind_runs_in_the_programs_of_a_mesh(self, name):
    """Traced alone: what shard_map asks of loops it asks then."""
    model = models.get(name).with_fields({"short_px": 64, "long_px": 96})
    mesh = jax.make_mesh((1,), ("data",), axis_types=(AxisType.Auto,))
    sharded = jax.shard_map(
      model.apply,
      mesh=mesh,
      in_specs=(P(), P("data"), P("data")),
      out_specs=P("data"),
    )
    images = jax.ShapeDtypeStruct((2, 100, 120, 3), np.uint8)
    sizes = jax.ShapeDtypeStruct((2, 2), np.int32)
    got = jax.eval_shape(sharded, drawn.abstract(model), images, sizes)
    count = model.spec.detections
    self.assertEqual(got["boxes"].shape, (2, count, 4))
    self.assertEqual("masks" in got, name.startswith("htc"))


# Of models/detection/README.md: counted here, mmdetection was never run.
_BODIES = ("resnet50", "resnet101", "resnext101_32x4d", "resnext101_64x4d")
_COUNTS = {
  "retinanet": (37_968_692, 56_960_820, 56_589_364, 95_866_932),
  "fasterrcnn": (41_753_056, 60_745_184, 60_373_728, 99_651_296),
  "maskrcnn": (44_396_336, 63_388_464, 63_017_008, 102_294_576),
  "cascadercnn": (69_394_766, 88_386_894, 88_015_438, 127_293_006),
  "cascademaskrcnn": (77_324_606, 96_316_734, 95_945_278, 135_222_846),
}


@pytest.mark.slow
class CountsTest(parameterized.TestCase):
  """Two-stage detectors: sizes, cascades."""

  @parameterized.parameters(*_COUNTS)
  def test_counts(self, kind):
    for body, count in zip(_BODIES, _COUNTS[kind], strict=True):
      model = models.get(f"{kind}_{body}_fpn_mmdet")
      self.assertEqual(model.count_parameters(), count)
      # Boxes and masks of the background, where they are not of all classes.
      model = models.get(f"{kind}_{body}_fpn_mmdet1")
      more = 4 * 1025 * (kind in ("fasterrcnn", "maskrcnn"))
      more += 257 * {"maskrcnn": 1, "cascademaskrcnn": 3}.get(kind, 0)
      self.assertEqual(model.count_parameters(), count + more)

  @parameterized.parameters(("_dconv", 18), ("_mdconv", 27))
  def test_deformable_bodies(self, end, channels):
    """A 3 x 3 convolution with a bias before each of c3 to c5's."""
    for body, factor, third in (
      ("resnet50", 1, 6),
      ("resnext101_64x4d", 4, 23),
    ):
      more = sum(
        blocks * channels * (9 * width * factor + 1)
        for blocks, width in ((4, 128), (third, 256), (3, 512))
      )
      plain = models.get(f"fasterrcnn_{body}_fpn_mmdet").count_parameters()
      model = models.get(f"fasterrcnn_{body}{end}_fpn_mmdet")
      self.assertEqual(model.count_parameters(), plain + more)


@pytest.mark.slow
class CascadeTest(absltest.TestCase):
  def test_runs_and_averages(self):
    model = models.get("cascademaskrcnn_resnet50_fpn_mmdet", 3)
    spec = dataclasses.replace(model.spec, short_px=96, long_px=128)
    model = dataclasses.replace(model, spec=spec)
    variables = model.init(jax.random.key(0))
    predictors = variables["roi_heads"]["box_predictor"]
    # Untrained offsets would push every box out of the picture.
    offsets = variables["rpn"]["head"]["bbox_pred"]
    offsets["kernel"] = 0 * offsets["kernel"]
    biases = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0]], np.float32)
    for i, bias in enumerate(biases):
      predictors[str(i)]["cls_score"]["bias"] = jnp.asarray(bias)
      for part in ("cls_score", "bbox_pred"):
        kernel = predictors[str(i)][part]["kernel"]
        predictors[str(i)][part]["kernel"] = 0 * kernel
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2, 96, 128, 3), np.uint8)
    sizes = np.array([[96, 128], [96, 100]], np.int32)
    got = jax.jit(model.apply)(variables, images, sizes)
    self.assertEqual(got["masks"].shape, (2, 100, 28, 28))
    kept = np.asarray(got["valid"])
    self.assertTrue(kept.any())
    # mmdetection's: of the mean of the stages' logits, not of their chances.
    chances = np.exp(biases.mean(0)) / np.exp(biases.mean(0)).sum()
    want = chances[np.asarray(got["classes"])]
    np.testing.assert_allclose(
      np.asarray(got["scores"])[kept], want[kept], rtol=1e-5
    )
    self.assertLessEqual(float(got["boxes"][1, :, 2].max()), 100)
    self.assertTrue(np.isfinite(np.asarray(got["masks"])).all())
    self.assertEqual(int(got["classes"][0, 0]), 1)


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
  """R-FCN: its anchors, and its head against a forward pass written out."""

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


def _stages() -> list[jax.ShapeDtypeStruct]:
  """Features of strides 4 to 32 of a picture of 64 x 96 px."""
  return [
    jax.ShapeDtypeStruct((2, 64 // s, 96 // s, width), jnp.float32)
    for s, width in ((4, 256), (8, 512), (16, 1024), (32, 2048))
  ]


class PyramidTest(parameterized.TestCase):
  """The pyramid's levels: strides and channels; nothing is computed."""

  @parameterized.parameters(
    (0, "pool", (4, 8, 16, 32, 64)),
    (1, "p5", (8, 16, 32, 64, 128)),
    (1, "c5", (8, 16, 32, 64, 128)),
  )
  def test_levels(self, first, coarser, strides):
    def levels(stages):
      rngs = nnx.Rngs(0)
      return backbone.Pyramid(first=first, coarser=coarser, rngs=rngs)(stages)

    got = jax.eval_shape(levels, _stages())
    self.assertEqual(
      [level.shape for level in got],
      [(2, -(-64 // s), -(-96 // s), backbone.WIDTH) for s in strides],
    )


class SingleStageTest(absltest.TestCase):
  """Dense scores to detections: fixed shapes, best first."""

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

  @pytest.mark.slow
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


class RulesTest(absltest.TestCase):
  """The libraries' numerics: who has which."""

  def test_every_library_of_published_detectors_has_some(self):
    weights = {
      models.get(n).spec.weights for n in models.names(kind="detection")
    }
    self.assertEqual(weights - {"robust_tfds"}, set(rules.RULES))


class DetectorSpecTest(absltest.TestCase):
  """Specs of detectors: defaults of COCO, one class is enough."""

  def test_other_classes_are_the_users(self):
    spec = DetectorSpec().with_classes(1)
    self.assertEqual((spec.num_classes, spec.label_space), (1, "custom"))
    with self.assertRaisesRegex(ValueError, "num_classes=0"):
      spec.with_classes(0)


IMAGES = np.zeros((4, 16, 24, 3), np.uint8)
SIZES = np.array([[16, 24], [10, 24], [16, 9], [3, 4]], np.int32)


def _whole(picture):
  """The picture's own size as a box; nothing where it is tiny."""
  h, w = picture.shape[:2]
  count = 2 if h > 4 else 0
  return {
    "boxes": [[0, 0, w, h], [0, 0, 1, 1]][:count],
    "scores": [0.25, 0.5][:count],
    "classes": [1, 0][:count],
  }


def _runs(mask):
  coded = rle.encode(mask)
  return {"size": list(coded.size), "counts": coded.counts.encode()}


def _model(function=_whole, detections=3):
  spec = detector_DetectorSpec(num_classes=2, short_px=0, detections=detections)
  return adapters.get("on_host")(function, spec, name="mine")


class ByPictureTest(parameterized.TestCase):
  """Detectors that are functions of one picture, on the host."""

  def test_pictures_of_their_own_sizes(self):
    got = _model().apply(None, IMAGES, SIZES)
    np.testing.assert_array_equal(
      got["scores"], [[0.5, 0.25, 0]] * 3 + [[0, 0, 0]]
    )
    np.testing.assert_array_equal(got["classes"][:3], [[0, 1, 0]] * 3)
    np.testing.assert_array_equal(got["valid"].sum(axis=1), [2, 2, 2, 0])
    np.testing.assert_array_equal(
      got["boxes"][:3, 1], [[0, 0, 24, 16], [0, 0, 24, 10], [0, 0, 9, 16]]
    )
    self.assertEqual({type(x) for x in got.values()}, {np.ndarray})
    whole = _model().apply(None, IMAGES)["boxes"][:, 1]
    np.testing.assert_array_equal(whole, [[0, 0, 24, 16]] * 4)

  def test_keypoints_are_said(self):
    model = _model(lambda picture: {**_whole(picture), "keypoints": []})
    with self.assertWarnsRegex(UserWarning, "mine gives keypoints, which are"):
      got = model.apply(None, IMAGES, SIZES)
    self.assertNotIn("keypoints", got)

  def test_the_best_are_taken(self):
    got = _model(detections=1).apply(None, IMAGES, SIZES)
    np.testing.assert_array_equal(got["scores"][:, 0], [0.5, 0.5, 0.5, 0])

  @parameterized.parameters(bool, np.float32, "runs")
  def test_masks(self, kind):
    def function(picture):
      answer = _whole(picture)
      masks = np.zeros((len(answer["boxes"]), *picture.shape[:2]), bool)
      masks[:1, 2:, 3:5] = True
      if kind != "runs":
        return {**answer, "masks": masks.astype(kind)}
      return {**answer, "masks": [_runs(mask) for mask in masks]}

    got = _model(function).apply(None, IMAGES, SIZES)["masks"]
    self.assertEqual(got.shape, (4, 3))
    self.assertEqual(got[3].tolist(), ["", "", ""])
    for texts, (high, wide) in zip(got[:3], SIZES[:3].tolist()):
      first, second = (rle.decode(rle.Mask(t, (high, wide))) for t in texts[:2])
      self.assertEqual(first.sum(), 0)  # of the better score
      np.testing.assert_array_equal(
        np.argwhere(second).min(0).tolist() + [second.sum()],
        [2, 3, 2 * (high - 2)],
      )

  @parameterized.parameters(
    (np.zeros((2, 5, 5)), r"masks of float64 \[2, 5, 5\] .* \[2, 16, 24\]"),
    ([{"size": [16, 24], "counts": "01"}] * 2, "mask 0 that is broken"),
    ([{"size": [5, 5], "counts": "5"}] * 2, r"expected size \[16, 24\]"),
    ([{"size": [16, 24], "counts": [384]}] * 2, "compressed counts"),
  )
  def test_masks_that_are_none(self, masks, words):
    model = _model(lambda picture: {**_whole(picture), "masks": masks})
    with self.assertRaisesRegex(errors.UserError, f"^mine gave.* {words}"):
      model.apply(None, IMAGES[:1], SIZES[:1])

  def test_masks_of_some_pictures(self):
    def function(picture):
      masks = {"masks": []} if picture.shape[0] == 3 else {}
      return {**_whole(picture), **masks}

    with self.assertRaisesRegex(errors.UserError, "gave masks for 1 of 4 pic"):
      _model(function).apply(None, IMAGES, SIZES)

  @parameterized.parameters(
    ({"classes": [1, 2]}, "^mine gave classes 1..2, expected 0..1"),
    ({"classes": [0.5, 1]}, "^mine gave classes 0.5 for a .* whole numbers"),
    ({"scores": [0.5]}, "^mine gave 2 boxes, 1 scores and 2 classes"),
    ({"scores": [np.nan, 1]}, "^mine gave scores for a picture with NaN"),
    ({"boxes": [[1, 2], [3]]}, "^mine gave boxes that are no array"),
    ({"boxes": np.zeros((2, 3))}, r"^mine gave boxes of float64 \[2, 3\]"),
  )
  def test_refused_answers(self, change, words):
    model = _model(lambda picture: {**_whole(picture), **change})
    with self.assertRaisesRegex(errors.UserError, words):
      model.apply(None, IMAGES[:1], SIZES[:1])

  @parameterized.parameters(
    (
      lambda p: [1],
      "^mine answered with a list for a picture, expected a dict",
    ),
    (lambda p: {"boxes": []}, "^mine gave boxes for a picture, without scores"),
  )
  def test_answers_that_are_none(self, function, words):
    with self.assertRaisesRegex(errors.UserError, words):
      _model(function).apply(None, IMAGES, SIZES)

  @parameterized.parameters(
    (IMAGES.astype(np.int16), SIZES, r"^mine got int16 \[4, 16, 24, 3\]"),
    (IMAGES[0], SIZES, "^mine got a batch of shape"),
    (IMAGES, SIZES[:2], r"^mine got sizes int32 \[2, 2\], expected"),
    (IMAGES, SIZES / 2, "^mine got sizes float"),
  )
  def test_refused_batches(self, images, sizes, words):
    with self.assertRaisesRegex(errors.UserError, words):
      _model().apply(None, images, sizes)
