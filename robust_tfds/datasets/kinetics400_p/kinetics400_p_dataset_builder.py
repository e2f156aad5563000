"""Kinetics400-P: Kinetics-400's validation videos, perturbed."""

from collections.abc import Sequence
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import videos
from robust_tfds.building.sources import class_lists, video_tables


class Builder(videos.Builder):
  """The listed videos; some are no longer to be had."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "video_p:kinetics400_p,model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = video_tables.KINETICS400_INSTRUCTIONS
  SPLIT = "validation"
  CLASSES = 400
  HOMEPAGE = "https://github.com/cvdfoundation/kinetics-dataset"

  @classmethod
  def class_names(cls, manual_dir: str = "") -> Sequence[Sequence[str]]:
    """Return the class names of the packaged list."""
    del manual_dir
    return [(name,) for name in class_lists.packaged(class_lists.KINETICS400)]

  def _sources(self, dl_manager: Any) -> list[videos.Source]:
    return video_tables.kinetics400(dl_manager.manual_dir)
