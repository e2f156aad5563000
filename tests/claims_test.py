"""Sentences of the papers, computed: what docs/evidence/COVERAGE.md says of them."""

from absl.testing import parameterized

from tests import in_process
from tools import claims

_WORDS = {
  "corruptions": "15 corruptions x 5 = 75, 4 more apart; 10 + 4 sequences",
  "top5_examples": "d' = 0, 1, 1, 2, 4, 5, 2, 12",
  "relative_mce": "relative mCE 100.0 of AlexNet, 105.0 of ResNet-50",
  "batch_normalization": (
    "VGG-19, VGG-19+BN: mce 88.9 and 81.6, mfr 66.9 and 65.1, mt5d 78.6 and 80.5"
  ),
  "vgg_beside_resnet": (
    "VGG-19, ResNet-18: mce 88.9 and 84.7, mfr 66.9 and 72.8, mt5d 78.6 and 87.0"
  ),
  "vgg11_of_figure9": (
    "accuracy/seen/unseen: VGG-11 (script loads VGG-19) 69.0/94.0/81.3,"
    " VGG-19 72.4/93.9/81.3, ResNet-18 69.8/90.8/79.2"
  ),
  "rpc_range": "rPC from 30.5 to 64.7 %",
  "heads_rpc": "rPC 49.7 to 50.2 %",
  "backbones": (
    "P/mPC beside r50: r101 +2.2/+2.7, x101-32x4d +3.8/+4.1,"
    " x101-64x4d +5.0/+5.2"
  ),
  "hybrid_task_cascade": "P +9.3, mPC +9.3 beside Faster R-CNN x101-64x4d",
  "stylized_gains": (
    "pascal_c +15.6 %, P -0.1; coco_c +12.1 %, P -1.7;"
    " cityscapes_c +41.0 %, P -0.1"
  ),
  "deformable_rpc": (
    "Faster R-CNN r50-dcn beside Faster R-CNN r50 +5.9,"
    " Faster R-CNN x101-64x4d-dcn beside Faster R-CNN x101-32x4d +6.1,"
    " Faster R-CNN x101-64x4d-dcn beside Faster R-CNN x101-64x4d +5.0,"
    " Mask R-CNN r50-dcn beside Mask R-CNN r50 +6.6, masks +6.6"
  ),
  "rmse_wraps": (
    "largest 10.94, Gaussian noise 5 10.15; bytes at random, wrapped: 10.27"
  ),
  "natural_totals": "57,897 pairs, 3,139 anchors",
  "natural_metadata": (
    "1,109 anchors, 21,070 pairs; 288 and 231 mapped classes"
  ),
  "natural_medians": (
    "17.00 of 45 models in table5, 14.85 of 60 models in table6"
  ),
  "detection_medians": "mAP 14.0, localization 11.5",
  "video_counts": (
    "hmdb51_p 137,610 = 90 x 1,529, ucf101_p 340,380 = 90 x 3,782,"
    " kinetics400_p 1,616,670 = 90 x 17,963, ssv2_p 2,229,930 = 90 x 24,777"
  ),
  "shift_categories": "14 categories, 63 shifts, 4,708 clips",
  "sampling_and_reversing": (
    "alike: table4 10 of 12, table5 0 of 8, table6 22 of 22, table7 22 of 22"
  ),
  "trained_on_perturbed": "gamma_r: MViT 0.08 to 0.59, ResNet50 1.06 to 1.16",
}


class ClaimsTest(parameterized.TestCase):
  def test_all_are_held(self):
    self.assertEqual(list(_WORDS), list(claims.CLAIMS))

  @parameterized.parameters(_WORDS.items())
  def test_it_says(self, name, words):
    self.assertEqual(claims.CLAIMS[name](), words)

  def test_the_command(self):
    done = in_process.program("tools.claims", "heads_rpc")
    self.assertEqual(done.stdout, "heads_rpc: rPC 49.7 to 50.2 %\n")
    done = in_process.program("tools.claims", "heds_rpc")
    self.assertEqual(done.returncode, 1)
    self.assertIn("Did you mean 'heads_rpc'", done.stderr)
