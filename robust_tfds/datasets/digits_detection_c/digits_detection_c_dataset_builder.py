"""The test scenes of digits under 19 corruptions x 5 severities, embedded."""

from collections.abc import Collection
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import objects
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_detection import scenes


class Builder(objects.Builder):
  """The Robust Detection Benchmark's protocol on `digits_detection`."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "quickstart_detection"
  EMBEDDED = True
  USUAL_PX = 128  # the canvas that holds them all
  CLASSES = tuple(str(d) for d in range(10))
  HOMEPAGE = digits.HOMEPAGE

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Return the ids of the embedded scenes."""
    return [source.example_id for source in scenes.sources(cls.SPLIT)]

  def _sources(self, dl_manager: Any) -> list[objects.Source]:
    del dl_manager
    return scenes.sources(self.SPLIT)
