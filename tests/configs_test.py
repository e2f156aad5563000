"""Every config file, under every name its docstring gives, makes a plan."""

import importlib
import pathlib
from unittest import mock

from absl.testing import absltest, parameterized

from robust_tfds import configs
from robust_tfds.corruptions import frost_pictures
from robust_tfds.eval.run import plan as plan_lib
from robust_tfds.models.convert import match
from tests import frost_folder

CONDITIONS = {
  "imagenet_c:squeezenet1_1": 96,
  "imagenet_p:squeezenet1_1": 15,
  "cifar10_c:digits_cnn": 96,
  "tiny_imagenet_c:squeezenet1_1": 96,
  "vid_robust": 1,
  "vid_robust:resnet50": 1,
  "coco_c:retinanet_r50": 96,
  "coco_c:mask_rcnn_r50": 96,
  "pascal_c:faster_rcnn_r50": 96,
  "cityscapes_c:mask_rcnn_r50": 96,
  "video_p:kinetics400_p,x3d_m": 91,
  "video_p:ssv2_p,mvit_base_16x4": 91,
  "video_p:ucf101_ds,r2plus1d_18": 1,
  "quickstart": 96,
  "quickstart:digits_p": 21,
  "quickstart_detection": 96,
  "quickstart_video": 91,
}


class ConfigsTest(parameterized.TestCase):
  @parameterized.parameters(*CONDITIONS.items())
  def test_plan(self, name, conditions):
    file, _, what = name.partition(":")
    module = importlib.import_module(f"configs.{file}")
    config = module.get_config(*([what] if what else [])).unlock()
    frost_folder.use_drawn()
    self.addCleanup(frost_pictures.use_folder, None)
    if "model" in config and "train" not in config.model:
      config.model.checkpoint = "weights.npz"
    if what == "squeezenet1_1" and file == "tiny_imagenet_c":
      config.model.num_classes = 200
    loaded = match.Loaded({}, match.OWN, {}, ())  # no weights are here
    with mock.patch.object(match, "load", return_value=loaded):
      plan = plan_lib.make(config.lock())
    self.assertLen(plan.conditions, conditions)

  def test_all_files_are_here(self):
    files = {p.stem for p in pathlib.Path(configs.__path__[0]).glob("*.py")}
    listed = {name.partition(":")[0] for name in CONDITIONS}
    self.assertEqual(files - {"__init__"}, listed)


if __name__ == "__main__":
  absltest.main()
