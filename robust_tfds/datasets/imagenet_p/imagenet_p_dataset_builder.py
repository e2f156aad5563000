"""ImageNet-P: the ILSVRC 2012 validation set as perturbation sequences."""

import functools

import tensorflow_datasets as tfds

from robust_tfds.datasets import corrupted
from robust_tfds.datasets import geometry
from robust_tfds.datasets import perturbed
from robust_tfds.datasets import published_videos
from robust_tfds.datasets.imagenet_c import sources


class Builder(perturbed.PerturbedBuilder):
  """ImageNet-P at 224 px, 31 frames a sequence (translate 41)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""{sources.INSTRUCTIONS}
The published ImageNet-P (config suffix `_published`), from
https://zenodo.org/record/3565846, in a folder `ImageNet-P`: tar archives as they
are, or extracted to <perturbation>/<wnid>/<name>.mp4."""
  EDITION = "imagenet"
  SPLIT = "validation"
  CODECS = (perturbed.PNG, perturbed.H264, perturbed.PUBLISHED)
  BUILDER_CONFIGS = perturbed.configs(CODECS)
  OWN_FOLDER = "ImageNet-P"
  SIDE_PX = 224
  # The shorter side is resized before the conversion to RGB (specs section 1).
  SOURCE_RULE = "short256"

  def _info(self) -> tfds.core.DatasetInfo:
    label = tfds.features.ClassLabel(names=sources.wnids())
    return self.dataset_info_from_configs(
      features=self.features(label, self.SIDE_PX),
      homepage="https://github.com/hendrycks/robustness",
    )

  def _sources(self, dl_manager):
    return [
      corrupted.Source(
        f.name, f.label, functools.partial(_read, f, self.SOURCE_RULE)
      )
      for f in sources.clean(dl_manager.manual_dir)
    ]

  def _published(self, dl_manager):
    config = self.builder_config
    return published_videos.find(
      dl_manager.manual_dir,
      self.OWN_FOLDER,
      perturbed.config_name(config.perturbation, config.difficulty),
      sources.wnids(),
      (self._frames(), self.SIDE_PX, self.SIDE_PX, 3),
    )


def _read(file: sources.File, rule: str):
  return geometry.decode(file.data(), rule, file.name, convert_last=True)
