"""HMDB51-P: HMDB51's test videos under 18 perturbations."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import videos
from robust_tfds.building.sources import class_lists, split_lists


class Builder(videos.Builder):
  """`test` is split 1, as the counts imply (docs/evidence/specs/video.md section 1).

  They are of one video less than the split has, which they do not name.
  """

  VERSION = tfds.core.Version("1.2.0")
  RELEASE_NOTES = {
    "1.0.0": "Initial release.",
    "1.1.0": "group_id is the film that the clip is of; pixels as before.",
    "1.2.0": "Splits test_2 and test_3; pixels as before.",
  }
  RUN_BY = "video_p:hmdb51_p,model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = split_lists.HMDB51_INSTRUCTIONS
  SPLIT = "test"
  OTHER_SPLITS = {"test_2": 1_530, "test_3": 1_530}
  CLASSES = 51
  PUBLISHED_EXAMPLES = 1_530
  HOMEPAGE = "https://serre-lab.clps.brown.edu/resource/hmdb-a-large-human-motion-database/"

  @classmethod
  def class_names(cls, manual_dir: str = "") -> Sequence[Sequence[str]]:
    """Return the class names of the packaged list."""
    del manual_dir
    return [(name,) for name in class_lists.packaged(class_lists.HMDB51)]

  @classmethod
  def known_group(cls, example_id: str, frame: int = 0) -> str | None:
    """Return the film that the file's name says."""
    del frame
    return split_lists.hmdb51_film(example_id) or None

  def _split_sources(
    self, dl_manager: Any
  ) -> Mapping[str, Sequence[videos.Source]]:
    listed = functools.partial(split_lists.hmdb51, dl_manager.manual_dir)
    return split_lists.present_splits(listed, self.splits())
