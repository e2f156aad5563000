"""Detectors: who has a loss, and batches that are refused before any work."""

import numpy as np
from absl.testing import parameterized

from robust_tfds import models
from robust_tfds.models.detection import detector
from robust_tfds.models.detection.rules import RULES
from robust_tfds.models.detection.spec import DetectorSpec
from robust_tfds.models.family import Family
from robust_tfds.models.spec import Variant


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
