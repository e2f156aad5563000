"""ImageNet-Vid-Robust: sets of similar video frames around labelled anchors."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import frames
from robust_tfds.building.sources import anchor_sets
from robust_tfds.datasets.imagenet_vid_robust import metadata


class Builder(frames.Builder):
  """1,109 anchors of ILSVRC VID, up to 20 similar frames each, 30 classes."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "vid_robust:model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = metadata.INSTRUCTIONS
  CLASSES = tuple(c["name"] for c in metadata.classes())
  PUBLISHED_EXAMPLES = 22_179
  HOMEPAGE = anchor_sets.HOMEPAGE

  def _frames(
    self, dl_manager: Any, include_unreviewed: bool
  ) -> list[frames.Frame]:
    files = anchor_sets.files(
      dl_manager, metadata.ARCHIVES, metadata.INSTRUCTIONS
    )
    return metadata.load(files, include_unreviewed)
