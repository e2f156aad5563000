"""Tiny-ImageNet-P: the validation set of Tiny ImageNet as sequences."""

import functools

import tensorflow_datasets as tfds

from robust_tfds.datasets import corrupted
from robust_tfds.datasets import geometry
from robust_tfds.datasets import perturbed
from robust_tfds.datasets import published_videos
from robust_tfds.datasets.tiny_imagenet_p import sources


class Builder(perturbed.PerturbedBuilder):
  """200 classes at 64 px, 31 frames a sequence."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""{sources.INSTRUCTIONS}
The published Tiny-ImageNet-P (config suffix `_published`), from
https://zenodo.org/record/2536630, in a folder `Tiny-ImageNet-P`: tar archives as
they are, or extracted to <perturbation>/<wnid>/<name>.mp4."""
  EDITION = "tiny_imagenet"
  SPLIT = "validation"
  CODECS = (perturbed.PNG, perturbed.H264, perturbed.PUBLISHED)
  BUILDER_CONFIGS = perturbed.configs(CODECS)
  SIDE_PX = 64

  def _info(self) -> tfds.core.DatasetInfo:
    label = tfds.features.ClassLabel(num_classes=200)
    return self.dataset_info_from_configs(
      features=self.features(label, self.SIDE_PX),
      homepage="https://github.com/hendrycks/robustness",
    )

  def _sources(self, dl_manager):
    return [
      corrupted.Source(f.name, f.label, functools.partial(_read, f))
      for f in sources.clean(dl_manager.manual_dir)
    ]

  def _published(self, dl_manager):
    config = self.builder_config
    return published_videos.find(
      dl_manager.manual_dir,
      "Tiny-ImageNet-P",
      perturbed.config_name(config.perturbation, config.difficulty),
      sources.wnids(dl_manager.manual_dir),
      (self._frames(), self.SIDE_PX, self.SIDE_PX, 3),
    )


def _read(file: sources.File):
  return geometry.decode(file.data(), "whole", file.name)
