"""Kinetics400-P: Kinetics-400's validation videos, perturbed."""

import tensorflow_datasets as tfds

from robust_tfds.datasets import perturbed_videos
from robust_tfds.datasets.kinetics400_p import sources


class Builder(perturbed_videos.PerturbedVideoBuilder):
  """The listed videos; some are no longer to be had."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = sources.INSTRUCTIONS
  SPLIT = "validation"
  BUILDER_CONFIGS = perturbed_videos.configs()

  def _info(self) -> tfds.core.DatasetInfo:
    return self.dataset_info_from_configs(
      features=self.features(tfds.features.ClassLabel(num_classes=400)),
      homepage="https://github.com/cvdfoundation/kinetics-dataset",
    )

  def _sources(self, dl_manager):
    return sources.videos(dl_manager.manual_dir)
