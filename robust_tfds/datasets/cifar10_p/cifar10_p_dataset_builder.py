"""CIFAR-10-P: the test set of CIFAR-10 as perturbation sequences."""

from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import tensorflow_datasets as tfds

from robust_tfds.building import pictures, sequences
from robust_tfds.building.sources import cifar, published_arrays


class Builder(sequences.Builder):
  """CIFAR-10-P: 31 frames (motion blur 21, translate 16), no codec.

  Attributes:
    SET: CIFAR-10 or CIFAR-100.
  """

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "imagenet_p:model"
  SET: ClassVar[cifar.Cifar] = cifar.CIFAR10
  MANUAL_DOWNLOAD_INSTRUCTIONS = cifar.CIFAR10.instructions
  EDITION = "cifar10"
  CODECS = (sequences.PNG, sequences.PUBLISHED)
  PUBLISHED_PIXELS = True
  CLASSES = cifar.CIFAR10.classes
  SIDE_PX = cifar.SIDE_PX
  SOURCE_SHAPE = (cifar.SIDE_PX, cifar.SIDE_PX, 3)
  PUBLISHED_EXAMPLES = 10_000
  HOMEPAGE = "https://github.com/hendrycks/robustness"

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Return the ids of the rows of the authors' files."""
    return [cifar.example_id(row) for row in range(cls.PUBLISHED_EXAMPLES)]

  def _sources(self, dl_manager: Any) -> list[pictures.Source]:
    return cifar.sources(self.SET, dl_manager, self._data_dir_root)

  def _published(self, dl_manager: Any) -> Iterator[sequences.Row]:
    labels, _ = cifar.test_images(self.SET, dl_manager, self._data_dir_root)
    return published_arrays.sequences(
      dl_manager.manual_dir,
      self.SET,
      self.config.condition.config,
      labels,
      self.frames_shape(),
    )
