"""Digits under 19 corruptions x 5 severities: ImageNet-C's protocol, embedded."""

from collections.abc import Collection
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import pictures
from robust_tfds.datasets.digits import digits_dataset_builder as digits


class Builder(pictures.Builder):
  """The test digits, corrupted with CIFAR-10-C's severities."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "quickstart:digits_c"
  EDITION = "cifar10"
  CLASSES = 10
  SIDE_PX = digits.SIDE_PX
  HOMEPAGE = digits.HOMEPAGE

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Of the embedded digits."""
    return digits.labels(cls.SPLIT)

  @classmethod
  def known_label(cls, example_id: str) -> int | None:
    """Of the embedded digits."""
    return digits.labels(cls.SPLIT).get(example_id)

  def _sources(self, dl_manager: Any) -> list[pictures.Source]:
    del dl_manager
    return digits.sources(self.SPLIT)
