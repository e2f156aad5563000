"""CIFAR-10-P: the test set of CIFAR-10 as perturbation sequences."""

import functools

import tensorflow_datasets as tfds

from robust_tfds.datasets import corrupted
from robust_tfds.datasets import perturbed
from robust_tfds.datasets.cifar10_p import sources


class Builder(perturbed.PerturbedBuilder):
  """CIFAR-10-P: 31 frames (motion blur 21, translate 16), no codec."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = sources.INSTRUCTIONS
  EDITION = "cifar10"
  SPLIT = "test"
  SOURCE_SHAPE = (32, 32, 3)
  CODECS = (perturbed.PNG, perturbed.PUBLISHED)
  PUBLISHED_PIXELS = True
  BUILDER_CONFIGS = perturbed.configs(CODECS)

  def _info(self) -> tfds.core.DatasetInfo:
    label = tfds.features.ClassLabel(names=sources.CLASSES)
    return self.dataset_info_from_configs(
      features=self.features(label, 32),
      homepage="https://github.com/hendrycks/robustness",
    )

  def _sources(self, dl_manager):
    labels, images = sources.test_images(dl_manager.manual_dir)
    return [
      corrupted.Source(
        sources.example_id(i), int(label), functools.partial(_same, image)
      )
      for i, (label, image) in enumerate(zip(labels, images, strict=True))
    ]

  def _published(self, dl_manager):
    config = self.builder_config
    name = perturbed.config_name(config.perturbation, config.difficulty)
    return sources.published(dl_manager.manual_dir, name, self._frames())


def _same(image):
  return image
