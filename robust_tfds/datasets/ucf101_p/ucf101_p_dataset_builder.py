"""UCF101-P: UCF101's test videos under 18 perturbations."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import videos
from robust_tfds.building.sources import split_lists


class Builder(videos.Builder):
  """`test` is split 1, as the counts imply (docs/evidence/specs/video.md section 1).

  They are of one video less than the split has, which they do not name.
  """

  VERSION = tfds.core.Version("1.2.0")
  RELEASE_NOTES = {
    "1.0.0": "Initial release.",
    "1.1.0": "group_id is UCF101's group of clips of one video; pixels as before.",
    "1.2.0": "Splits test_2 and test_3; pixels as before.",
  }
  RUN_BY = "video_p:ucf101_p,model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = split_lists.UCF101_INSTRUCTIONS
  SPLIT = "test"
  OTHER_SPLITS = {"test_2": 3_734, "test_3": 3_696}
  CLASSES = 101
  PUBLISHED_EXAMPLES = 3_783
  HOMEPAGE = "https://www.crcv.ucf.edu/data/UCF101.php"

  @classmethod
  def known_group(cls, example_id: str, frame: int = 0) -> str | None:
    """Return UCF101's group of clips."""
    del frame
    return split_lists.ucf101_group(example_id) or None

  def _split_sources(
    self, dl_manager: Any
  ) -> Mapping[str, Sequence[videos.Source]]:
    listed = functools.partial(split_lists.ucf101, dl_manager.manual_dir)
    return split_lists.present_splits(listed, self.splits())
