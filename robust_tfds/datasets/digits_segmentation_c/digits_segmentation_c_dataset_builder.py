"""The test scenes of digits under 19 corruptions x 5 severities, with masks."""

from collections.abc import Collection
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import masks
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_detection import scenes
from robust_tfds.datasets.digits_segmentation import (
  digits_segmentation_dataset_builder as clean,
)


class Builder(masks.Builder):
  """Segmentation under corruption on `digits_segmentation`."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "quickstart_segmentation"
  EMBEDDED = True
  USUAL_PX = 128  # the canvas that holds them all
  CLASSES = clean.CLASSES
  HOMEPAGE = digits.HOMEPAGE

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Return the ids of the embedded scenes."""
    return [source.example_id for source in scenes.sources(cls.SPLIT)]

  def _sources(self, dl_manager: Any) -> list[masks.Source]:
    del dl_manager
    return clean.sources(self.SPLIT)
