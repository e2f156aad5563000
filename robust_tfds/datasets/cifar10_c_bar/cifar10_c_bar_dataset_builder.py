"""CIFAR-10-C-bar: the test set under 10 corruptions unlike CIFAR-10-C's."""

import tensorflow_datasets as tfds

from robust_tfds import conditions
from robust_tfds.building.sources import cifar
from robust_tfds.datasets.cifar10_c import cifar10_c_dataset_builder


class Builder(cifar10_c_dataset_builder.Builder):
  """CIFAR-10-C-bar as the authors' script writes it: 32 px, no codec."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "cifar10_c_bar:model"
  FAMILY = conditions.C_BAR_CIFAR
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""{cifar.CIFAR10.instructions}
The authors' arrays of CIFAR-10-C-bar: CIFAR-10-C-Bar/<corruption>.npy and
labels.npy, as make_cifar10_c_bar.py of
https://github.com/facebookresearch/augmentation-corruption writes them."""
  PUBLISHED_FOLDER = "CIFAR-10-C-Bar"
  HOMEPAGE = "https://github.com/facebookresearch/augmentation-corruption"
