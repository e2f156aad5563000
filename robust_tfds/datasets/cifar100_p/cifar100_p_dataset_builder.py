"""CIFAR-100-P: the test set of CIFAR-100 as perturbation sequences."""

import tensorflow_datasets as tfds

from robust_tfds.building.sources import cifar
from robust_tfds.datasets.cifar10_p import cifar10_p_dataset_builder


class Builder(cifar10_p_dataset_builder.Builder):
  """CIFAR-10-P's sequences of CIFAR-100, with the 100 fine labels."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  SET = cifar.CIFAR100
  MANUAL_DOWNLOAD_INSTRUCTIONS = cifar.CIFAR100.instructions
  CLASSES = cifar.CIFAR100.classes
