"""CIFAR-10-P: the test set of CIFAR-10 as perturbation sequences."""

from collections.abc import Iterator
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.datasets import pictures
from robust_tfds.datasets import sequences
from robust_tfds.datasets.sources import cifar


class Builder(sequences.Builder):
  """CIFAR-10-P: 31 frames (motion blur 21, translate 16), no codec."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = cifar.INSTRUCTIONS
  EDITION = "cifar10"
  CODECS = (sequences.PNG, sequences.PUBLISHED)
  PUBLISHED_PIXELS = True
  CLASSES = cifar.CLASSES
  SIDE_PX = cifar.SIDE_PX
  SOURCE_SHAPE = (cifar.SIDE_PX, cifar.SIDE_PX, 3)
  HOMEPAGE = "https://github.com/hendrycks/robustness"

  def _sources(self, dl_manager: Any) -> list[pictures.Source]:
    return cifar.sources(dl_manager.manual_dir)

  def _published(self, dl_manager: Any) -> Iterator[sequences.Row]:
    return cifar.published(
      dl_manager.manual_dir, self.config.condition.config, self.num_frames()
    )
