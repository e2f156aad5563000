"""ImageNet-C: the ILSVRC 2012 validation set under 19 corruptions x 5."""

import functools

import tensorflow_datasets as tfds

from robust_tfds.datasets import corrupted
from robust_tfds.datasets import geometry
from robust_tfds.datasets.imagenet_c import sources


class Builder(corrupted.CorruptedBuilder):
  """ImageNet-C as published: crop 224, corruption, JPEG quality 85."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = sources.INSTRUCTIONS
  EDITION = "imagenet"
  SPLIT = "validation"
  CODEC = "jpeg85"
  OTHER_CODECS = ("raw", "published")
  GEOMETRY = "imagenet"
  BUILDER_CONFIGS = corrupted.configs("jpeg85", "imagenet", OTHER_CODECS)

  def _info(self) -> tfds.core.DatasetInfo:
    shape = geometry.shape(self.builder_config.geometry)
    label = tfds.features.ClassLabel(names=sources.wnids())
    return self.dataset_info_from_configs(
      features=self.features(shape, label),
      supervised_keys=("image", "label"),
      homepage="https://github.com/hendrycks/robustness",
    )

  def _sources(self, dl_manager):
    rule = self.builder_config.geometry
    return [
      corrupted.Source(f.name, f.label, functools.partial(_read, f, rule))
      for f in sources.clean(dl_manager.manual_dir)
    ]

  def _published(self, dl_manager):
    config = self.builder_config
    files = sources.published(
      dl_manager.manual_dir, config.corruption, config.severity
    )
    for f in files:
      data = f.data()
      geometry.decode(data, "whole", f.name)
      yield f.name, f.label, data


def _read(file: sources.File, rule: str):
  return geometry.decode(file.data(), rule, file.name)
