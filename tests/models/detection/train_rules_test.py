"""What differs between libraries, against the numbers of their configs."""

from absl.testing import absltest

from models.detection import train_rules


class TrainRulesTest(absltest.TestCase):
  def test_of_the_papers_zoo(self):
    """mmdetection 1.x: configs/faster_rcnn_r50_fpn_1x.py, retinanet_*."""
    got = train_rules.TRAIN_RULES["mmdetection1"]
    self.assertEqual(got.betas, (1 / 9, 1.0, 0.11))
    self.assertEqual((got.anchors, got.regions), (256, 512))
    self.assertEqual(
      (got.least, got.inside, got.nearest_too), (0.3, True, True)
    )
    self.assertEqual(got.candidates, (2000, 2000))
    self.assertEqual(got.masks, "resized")

  def test_of_torchvision(self):
    """Defaults of its constructors; RetinaNet's boxes have plain L1."""
    got = train_rules.TRAIN_RULES["torchvision"]
    self.assertEqual(got.betas, (1 / 9, 1 / 9, 0.0))
    self.assertEqual((got.least, got.inside, got.padded), (0.0, False, False))
    self.assertTrue(got.by_picture and got.constant_norms)

  def test_cascades(self):
    self.assertEqual(train_rules.STAGE_OVERLAPS, (0.5, 0.6, 0.7))
    self.assertEqual(train_rules.STAGE_WEIGHTS, (1.0, 0.5, 0.25))
    got = train_rules.TRAIN_RULES["mmdetection cascade"]
    self.assertEqual(got.betas[:2], (1 / 9, 1.0))


if __name__ == "__main__":
  absltest.main()
