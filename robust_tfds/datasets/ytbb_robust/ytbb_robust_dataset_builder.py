"""YTBB-Robust: sets of similar frames of YouTube-BB around labelled anchors."""

import tensorflow_datasets as tfds

from robust_tfds.datasets import frame_sets
from robust_tfds.datasets import source_folders
from robust_tfds.datasets.ytbb_robust import metadata


class Builder(frame_sets.FrameSetBuilder):
  """2,030 anchors of YouTube-BB, up to 20 similar frames each, 24 classes."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = metadata.INSTRUCTIONS
  EDITION = "imagenet"  # of corruptions at this size, should one want them
  BUILDER_CONFIGS = frame_sets.configs()

  def _info(self) -> tfds.core.DatasetInfo:
    return self.dataset_info_from_configs(
      features=self.features([c["name"] for c in metadata.classes()]),
      supervised_keys=("image", "label"),
      homepage="https://modestyachts.github.io/natural-perturbations-website",
    )

  def _frames(self, dl_manager, everything):
    roots = source_folders.extracted(
      dl_manager, metadata.ARCHIVES, "imagenet_vid_ytbb_robust"
    )
    files = source_folders.SourceFolders(roots, metadata.INSTRUCTIONS)
    return metadata.load(files, everything)
