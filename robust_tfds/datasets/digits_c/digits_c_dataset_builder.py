"""Digits under 19 corruptions x 5 severities: ImageNet-C's protocol, embedded."""

from typing import Any, ClassVar

import tensorflow_datasets as tfds

from robust_tfds.building import embedded, pictures
from robust_tfds.datasets.digits import digits_dataset_builder as digits


class Builder(embedded.OfTest, pictures.Builder):
  """The test digits, corrupted with CIFAR-10-C's severities."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "quickstart:digits_c"
  CLEAN: ClassVar[Any] = digits
  EDITION = "cifar10"
  CLASSES = 10
  SIDE_PX = digits.SIDE_PX
  HOMEPAGE = digits.HOMEPAGE
