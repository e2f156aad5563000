"""Detectors: who has a loss, and batches that are refused before any work."""

import numpy as np
from absl.testing import parameterized

from robust_tfds import models
from robust_tfds.models.detection import detector


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
