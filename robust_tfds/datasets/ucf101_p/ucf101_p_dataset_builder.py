"""UCF101-P: UCF101's test videos under 18 perturbations."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import videos
from robust_tfds.building.sources import split_lists


class Builder(videos.Builder):
  """Split 1, as the authors' counts imply (docs/specs/video.md section 1)."""

  VERSION = tfds.core.Version("1.1.0")
  RELEASE_NOTES = {
    "1.0.0": "Initial release.",
    "1.1.0": "group_id is UCF101's group of clips of one video; pixels as before.",
  }
  RUN_BY = "video_p:ucf101_p,model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = split_lists.UCF101_INSTRUCTIONS
  SPLIT = "test"
  CLASSES = 101
  PUBLISHED_EXAMPLES = 3_783
  HOMEPAGE = "https://www.crcv.ucf.edu/data/UCF101.php"

  @classmethod
  def known_group(cls, example_id: str, frame: int = 0) -> str | None:
    """UCF101's group of clips."""
    del frame
    return split_lists.ucf101_group(example_id) or None

  def _sources(self, dl_manager: Any) -> list[videos.Source]:
    return split_lists.ucf101(dl_manager.manual_dir)
