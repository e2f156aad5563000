"""Checkpoint names of torchvision, old and new, and of mmdetection."""

import numpy as np
from absl.testing import absltest

from robust_tfds import models
from robust_tfds.models.convert import match


def arrays(name):
  """A checkpoint in torch's words with numbered arrays."""
  shapes = models.get(name).shapes()
  return {
    match.torch_name(path): np.full(
      match.file_shape(shape, path, False), i, np.float32
    )
    for i, (path, shape) in enumerate(shapes.items())
  }


class NamesTest(absltest.TestCase):
  def test_leftovers_are_named(self):
    given = arrays("retinanet_resnet50_fpn")
    given["backbone.fpn.spare.weight"] = np.zeros(3, np.float32)
    with self.assertRaisesRegex(ValueError, "spare.weight"):
      match.match_arrays(models.get("retinanet_resnet50_fpn"), given)

  def test_another_class_count_is_named(self):
    given = arrays("retinanet_resnet50_fpn")
    with self.assertRaisesRegex(ValueError, "cls_logits"):
      match.match_arrays(models.get("retinanet_resnet50_fpn", 20), given)

  def test_retinanet_old_torchvision(self):
    new = arrays("retinanet_resnet50_fpn")
    old = {}
    for name, value in new.items():
      for i in range(4):
        name = name.replace(f"_head.conv.{i}.0.", f"_head.conv.{2 * i}#")
      for part in ("inner_blocks", "layer_blocks"):
        for i in range(3):
          name = name.replace(f"{part}.{i}.0.", f"{part}.{i}.")
      old[name.replace("#", ".")] = value
    loaded = match.match_arrays(models.get("retinanet_resnet50_fpn"), old)
    self.assertEqual(loaded.style, "torchvision old")
    want = match.match_arrays(models.get("retinanet_resnet50_fpn"), new)
    _same(loaded.variables, want.variables)

  def test_retinanet_mmdetection(self):
    name = "retinanet_resnet50_fpn_mmdet"
    new = arrays(name)
    old = {}
    for key, value in new.items():
      for ours, theirs in (
        ("backbone.body.", "backbone."),
        ("backbone.fpn.extra_blocks.p6.", "neck.fpn_convs.3.conv."),
        ("backbone.fpn.extra_blocks.p7.", "neck.fpn_convs.4.conv."),
        ("head.classification_head.cls_logits", "bbox_head.retina_cls"),
        ("head.regression_head.bbox_reg", "bbox_head.retina_reg"),
      ):
        key = key.replace(ours, theirs)
      for i in range(4):
        for ours, theirs in (
          (
            f"backbone.fpn.inner_blocks.{i}.0.",
            f"neck.lateral_convs.{i}.conv.",
          ),
          (f"backbone.fpn.layer_blocks.{i}.0.", f"neck.fpn_convs.{i}.conv."),
          (
            f"head.classification_head.conv.{i}.0.",
            f"bbox_head.cls_convs.{i}.conv.",
          ),
          (
            f"head.regression_head.conv.{i}.0.",
            f"bbox_head.reg_convs.{i}.conv.",
          ),
        ):
          key = key.replace(ours, theirs)
      old[key] = value
    loaded = match.match_arrays(models.get(name), old)
    self.assertEqual(loaded.style, "mmdetection")
    _same(loaded.variables, match.match_arrays(models.get(name), new).variables)


def _same(one, two):
  import jax

  jax.tree.map(np.testing.assert_array_equal, one, two)


if __name__ == "__main__":
  absltest.main()
