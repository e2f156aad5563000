"""The config of `configs/` that a data set is run with, by the set's name."""

from __future__ import annotations

import importlib

import ml_collections

from robust_tfds import datasets, errors

_MODEL = "model"  # in place of a name: the config's models are not read
# Data set -> file of `configs/`, and what stands after its colon.
_FILES = {
  "cifar10_c": ("cifar10_c", _MODEL),
  "cifar100_c": ("cifar10_c", _MODEL),
  "tiny_imagenet_c": ("tiny_imagenet_c", _MODEL),
  "imagenet64_c": ("tiny_imagenet_c", _MODEL),
  "imagenet_c": ("imagenet_c", _MODEL),
  "imagenet_p": ("imagenet_p", _MODEL),
  "imagenet64_p": ("imagenet_p", _MODEL),
  "tiny_imagenet_p": ("imagenet_p", _MODEL),
  "cifar10_p": ("imagenet_p", _MODEL),
  "cifar100_p": ("imagenet_p", _MODEL),
  "coco_c": ("coco_c", _MODEL),
  "pascal_c": ("pascal_c", _MODEL),
  "cityscapes_c": ("cityscapes_c", _MODEL),
  "imagenet_vid_robust": ("vid_robust", _MODEL),
  "ytbb_robust": ("vid_robust", _MODEL),
  "hmdb51_p": ("video_p", f"hmdb51_p,{_MODEL}"),
  "kinetics400_p": ("video_p", f"kinetics400_p,{_MODEL}"),
  "ssv2_p": ("video_p", f"ssv2_p,{_MODEL}"),
  "ucf101_p": ("video_p", f"ucf101_p,{_MODEL}"),
  "ucf101_ds": ("video_p", f"ucf101_ds,{_MODEL}"),
  "digits_c": ("quickstart", "digits_c"),
  "digits_p": ("quickstart", "digits_p"),
  "digits_detection_c": ("quickstart_detection", ""),
  "digits_vid_robust": ("vid_robust", ""),
  "digits_video_p": ("quickstart_video", ""),
}


def of(dataset: str) -> ml_collections.ConfigDict:
  """The config, unlocked; its models are examples of others.

  Raises:
    UserError: no benchmark of that name, with the nearest one.
  """
  if dataset not in _FILES:
    raise errors.unknown("benchmark", dataset, _FILES)
  file, argument = _FILES[dataset]
  module = importlib.import_module(f"robust_tfds.configs.{file}")
  config = module.get_config(*[argument] * bool(argument)).unlock()
  if config.data.name != dataset:
    config.data.name = dataset
    builder = datasets.builder_class(dataset)
    config.data.split = builder.SPLIT
  return config
