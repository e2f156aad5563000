"""Digits under ImageNet-P's perturbations: CIFAR-10-P's protocol, embedded."""

from typing import Any, ClassVar

import tensorflow_datasets as tfds

from robust_tfds.building import embedded, sequences
from robust_tfds.datasets.digits import digits_dataset_builder as digits


class Builder(embedded.OfTest, sequences.Builder):
  """The test digits as sequences, with CIFAR-10-P's parameters."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "quickstart:digits_p"
  CLEAN: ClassVar[Any] = digits
  EDITION = "cifar10"
  CLASSES = 10
  SIDE_PX = digits.SIDE_PX
  SOURCE_SHAPE = (digits.SIDE_PX, digits.SIDE_PX, 3)
  HOMEPAGE = digits.HOMEPAGE
