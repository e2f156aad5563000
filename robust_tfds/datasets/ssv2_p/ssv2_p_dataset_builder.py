"""SSv2-P: Something-Something v2's validation videos, perturbed."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import videos
from robust_tfds.building.sources import video_tables


class Builder(videos.Builder):
  """The whole validation set, as the authors' counts imply."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "video_p:ssv2_p,model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = video_tables.SSV2_INSTRUCTIONS
  SPLIT = "validation"
  CLASSES = 174
  PUBLISHED_EXAMPLES = 24_777
  HOMEPAGE = (
    "https://developer.qualcomm.com/software/ai-datasets/something-something"
  )

  def _sources(self, dl_manager: Any) -> list[videos.Source]:
    return video_tables.ssv2(dl_manager.manual_dir)
