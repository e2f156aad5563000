"""Detectors: who has a loss, and batches that are refused before any work."""

import jax
import numpy as np
import pytest
from absl.testing import parameterized
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from robust_tfds import models
from robust_tfds.models.detection import detector
from robust_tfds.models.detection.rules import RULES
from robust_tfds.models.detection.spec import DetectorSpec
from robust_tfds.models.family import Family
from robust_tfds.models.spec import Variant
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

  def test_only_networks_with_a_train_mode_are_trained(self):
    self.assertFalse(detector.DetectorNetwork.has_loss)
    for name in models.names(kind="detection"):
      model = models.get(name)
      self.assertIsInstance(model, detector.Detector)
      # RetinaNets have a loss, but batch norms without a train mode.
      self.assertEqual(model.trainable, name == "tiny_retinanet", name)
    with self.assertRaisesRegex(ValueError, "no training loss here"):
      models.get("fasterrcnn_resnet50_fpn").loss({}, {})

  def test_a_network_says_what_it_lacks(self):
    network = detector.DetectorNetwork()
    with self.assertRaises(NotImplementedError):
      network(np.zeros((1, 8, 8, 3)), np.zeros((1, 2)), np.ones((1, 4)))
    with self.assertRaises(NotImplementedError):
      network.loss(np.zeros((1, 8, 8, 3)), np.zeros((1, 0, 4)), np.zeros(0))

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
