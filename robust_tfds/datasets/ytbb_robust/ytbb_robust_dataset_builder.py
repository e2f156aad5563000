"""YTBB-Robust: sets of similar frames of YouTube-BB around labelled anchors."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import frames
from robust_tfds.building.sources import anchor_sets
from robust_tfds.datasets.ytbb_robust import metadata


class Builder(frames.Builder):
  """2,030 anchors of YouTube-BB, up to 20 similar frames each, 24 classes."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "vid_robust:model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = metadata.INSTRUCTIONS
  CLASSES = tuple(c["name"] for c in metadata.classes())
  # 2,030 anchors and 36,827 pairs.
  PUBLISHED_EXAMPLES = 38_857
  HOMEPAGE = anchor_sets.HOMEPAGE

  def _frames(
    self, dl_manager: Any, include_unreviewed: bool
  ) -> list[frames.Frame]:
    files = anchor_sets.files(
      dl_manager, metadata.ARCHIVES, metadata.INSTRUCTIONS
    )
    return metadata.load(files, include_unreviewed)
