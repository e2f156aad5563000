"""CIFAR-10-C: the test set of CIFAR-10 under 19 corruptions x 5 severities."""

from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import tensorflow_datasets as tfds

from robust_tfds.building import base, pictures
from robust_tfds.building.sources import cifar, frost, published_arrays


class Builder(pictures.Builder):
  """CIFAR-10-C as published: 32 px, no codec.

  Attributes:
    SET: CIFAR-10 or CIFAR-100.
    PUBLISHED_FOLDER: the folder of the authors' arrays.
  """

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "cifar10_c:model"
  SET: ClassVar[cifar.Cifar] = cifar.CIFAR10
  MANUAL_DOWNLOAD_INSTRUCTIONS = (
    f"{cifar.CIFAR10.instructions}\n{frost.INSTRUCTIONS}"
  )
  PUBLISHED_FOLDER: ClassVar[str] = "CIFAR-10-C"
  EDITION = "cifar10"
  CODECS = (pictures.RAW, base.PUBLISHED)
  PUBLISHED_LOSSLESS = True
  CLASSES = cifar.CIFAR10.classes
  SIDE_PX = cifar.SIDE_PX
  PUBLISHED_EXAMPLES = 10_000
  HOMEPAGE = "https://github.com/hendrycks/robustness"

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Return the ids of the rows of the authors' files."""
    return [cifar.example_id(row) for row in range(cls.PUBLISHED_EXAMPLES)]

  def _sources(self, dl_manager: Any) -> list[pictures.Source]:
    return cifar.sources(self.SET, dl_manager, self._data_dir_root)

  def _published(self, dl_manager: Any) -> Iterator[pictures.Row]:
    return published_arrays.corrupted(
      dl_manager.manual_dir,
      self.PUBLISHED_FOLDER,
      self.SET,
      self.config.condition,
    )
