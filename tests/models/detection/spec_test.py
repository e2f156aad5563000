"""Specs of detectors: defaults of COCO, one class is enough."""

from absl.testing import absltest

from models.detection.spec import DetectorSpec


class DetectorSpecTest(absltest.TestCase):
  def test_defaults_are_cocos(self):
    spec = DetectorSpec()
    self.assertEqual((spec.kind, spec.label_space), ("detection", "coco"))
    self.assertEqual((spec.short_px, spec.long_px), (800, 1333))
    self.assertEqual((spec.num_classes, spec.detections), (80, 100))

  def test_other_classes_are_the_users(self):
    spec = DetectorSpec().with_classes(1)
    self.assertEqual((spec.num_classes, spec.label_space), (1, "custom"))
    with self.assertRaisesRegex(ValueError, "num_classes=0"):
      spec.with_classes(0)
