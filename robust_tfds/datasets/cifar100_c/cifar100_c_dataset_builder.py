"""CIFAR-100-C: the test set of CIFAR-100 under 19 corruptions x 5 severities."""

import tensorflow_datasets as tfds

from robust_tfds.building.sources import cifar, frost
from robust_tfds.datasets.cifar10_c import cifar10_c_dataset_builder


class Builder(cifar10_c_dataset_builder.Builder):
  """CIFAR-10-C's corruptions on CIFAR-100, with the 100 fine labels."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  SET = cifar.CIFAR100
  PUBLISHED_FOLDER = "CIFAR-100-C"
  MANUAL_DOWNLOAD_INSTRUCTIONS = (
    f"{cifar.CIFAR100.instructions}\n{frost.INSTRUCTIONS}"
  )
  CLASSES = cifar.CIFAR100.classes
