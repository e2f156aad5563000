"""Digits under ImageNet-P's perturbations: CIFAR-10-P's protocol, embedded."""

import functools

import tensorflow_datasets as tfds

from robust_tfds.datasets import corrupted
from robust_tfds.datasets import perturbed
from robust_tfds.datasets.digits import digits_dataset_builder as digits


class Builder(perturbed.PerturbedBuilder):
  """The test digits as sequences, with CIFAR-10-P's parameters."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  EDITION = "cifar10"
  SPLIT = "test"
  SOURCE_SHAPE = (32, 32, 3)
  BUILDER_CONFIGS = perturbed.configs((perturbed.PNG, perturbed.H264))

  def _info(self) -> tfds.core.DatasetInfo:
    label = tfds.features.ClassLabel(num_classes=10)
    return self.dataset_info_from_configs(
      features=self.features(label, 32),
      homepage="https://archive.ics.uci.edu/dataset/80",
    )

  def _sources(self, dl_manager):
    del dl_manager
    return [
      corrupted.Source(
        digits.example_id(i), label, functools.partial(digits.read, i)
      )
      for i, label in digits.rows(self.SPLIT)
    ]
