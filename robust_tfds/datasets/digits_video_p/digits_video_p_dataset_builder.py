"""Digits in motion under the 18 video perturbations, embedded."""

from collections.abc import Collection
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import videos
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_video import (
  digits_video_dataset_builder as digits_video,
)


class Builder(videos.Builder):
  """The test videos of `digits_video`."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "quickstart_video"
  CLASSES = digits_video.CLASSES
  HOMEPAGE = digits.HOMEPAGE

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Return the ids of the embedded videos."""
    return digits_video.labels(cls.SPLIT)

  @classmethod
  def known_label(cls, example_id: str) -> int | None:
    """Return the class of an embedded video."""
    return digits_video.labels(cls.SPLIT).get(example_id)

  def _sources(self, dl_manager: Any) -> list[videos.Source]:
    del dl_manager
    return digits_video.sources(self.SPLIT)
