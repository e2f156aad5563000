"""UCF101-DS: UCF101's classes under natural distribution shifts."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import videos
from robust_tfds.building.sources import video_tables


class Builder(videos.Builder):
  """Clips with the shift they show and its category."""

  VERSION = tfds.core.Version("1.1.0")
  RELEASE_NOTES = {
    "1.0.0": "Initial release.",
    "1.1.0": "group_id is the video that the clip is of; pixels as before.",
  }
  RUN_BY = "video_p:ucf101_ds,model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = video_tables.UCF101_DS_INSTRUCTIONS
  FAMILY = None  # the shifts are nature's
  EDITION = ""
  CLASSES = 101
  PUBLISHED_EXAMPLES = 4_708
  HOMEPAGE = "https://www.crcv.ucf.edu/research/projects/ucf101-ds/"

  @classmethod
  def known_group(cls, example_id: str, frame: int = 0) -> str | None:
    """Return None: the annotation alone says which video a clip is from."""
    del example_id, frame
    return None

  def extra_features(self) -> dict[str, Any]:
    """Return the features of the shift and its category."""
    return {
      "shift": tfds.features.Text(),
      "category": tfds.features.Text(),
    }

  def _sources(self, dl_manager: Any) -> list[videos.Source]:
    return video_tables.ucf101_ds(dl_manager.manual_dir)
