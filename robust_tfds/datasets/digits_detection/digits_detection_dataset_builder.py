"""Digits to be found: scenes with boxes and masks, embedded, no download."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import objects
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_detection import scenes


class Builder(objects.Builder):
  """1,000 training and 200 test scenes of one to five digits."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  FAMILY = None
  EDITION = ""
  OTHER_SPLITS = {"train": 0}
  CODECS = ()
  CLASSES = 10
  HOMEPAGE = digits.HOMEPAGE

  def _sources(self, dl_manager: Any) -> list[objects.Source]:
    del dl_manager
    return scenes.sources(self.SPLIT)

  def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
    del dl_manager
    return {
      s: self._generate_examples((s, scenes.sources(s))) for s in scenes.COUNTS
    }
