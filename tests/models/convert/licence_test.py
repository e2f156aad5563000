"""Licences of checkpoints, said before they load."""

from absl import logging
from absl.testing import parameterized

from models.convert import known, sources


class LicenceTest(parameterized.TestCase):
  @parameterized.parameters(
    ("hf:nvidia/segformer-b5-finetuned-ade-640-640", 1),
    ("hf:nvidia/segformer-b0-finetuned-cityscapes-1024-1024@main:x.bin", 1),
    ("torchvision:ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1", 1),
    ("torchvision:FCN_ResNet50_Weights.COCO_WITH_VOC_LABELS_V1", 0),
    ("/weights/mine.pth", 0),
  )
  def test_non_commercial_ones_are_said(self, text, count):
    with self.assertLogs(logging.get_absl_logger(), "WARNING") as logs:
      logging.warning("")
      sources._say_licence(text)
    self.assertLen(logs.output, 1 + count)
    if count:
      self.assertIn("non-commercial use alone", logs.output[1])

  def test_segmenters_have_checkpoints(self):
    for name, count in (("segformer_b3", 2), ("fcn_resnet101", 1)):
      self.assertLen(known.for_model(name), count)
