"""Detectors: their losses, and batches that are refused before any work."""

import jax
import numpy as np
import pytest
from absl.testing import parameterized
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from models import variables as variables_lib
from models.detection import detector
from models.detection.rules import RULES
from models.detection.spec import DetectorSpec
from models.family import Family
from models.spec import Variant
from robust_tfds import models
from tests import quick
from tests.models import drawn


class DetectorTest(parameterized.TestCase):
  @parameterized.parameters(
    (np.zeros((1, 8, 8, 3), np.float32), r"float32 \(1, 8, 8, 3\), expected"),
    (np.zeros((8, 8, 3), np.uint8), r"uint8 \(8, 8, 3\), expected uint8"),
    (np.zeros((1, 8, 8, 4), np.uint8), r"uint8 \(1, 8, 8, 4\)"),
  )
  def test_refuses_batches(self, batch, message):
    model = models.get("tiny_retinanet")
    with self.assertRaisesRegex(ValueError, f"tiny_retinanet got {message}"):
      model.apply({}, batch, np.array([[8, 8]], np.int32))

  def test_all_are_trained(self):
    for name in models.names(kind="detection"):
      model = models.get(name)
      self.assertIsInstance(model, detector.Detector)
      self.assertTrue(model.trainable, name)

  def test_a_network_says_what_it_lacks(self):
    network = detector.DetectorNetwork()
    with self.assertRaises(NotImplementedError):
      network(np.zeros((1, 8, 8, 3)), np.zeros((1, 2)), np.ones((1, 4)))
    with self.assertRaises(NotImplementedError):
      network.losses(np.zeros((1, 8, 8, 3)), None, jax.random.key(0))

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
    for rules, edge in (("mmdetection", 0), ("mmdetection1", 1)):
      variant = Variant(spec, {"rules": rules})
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
