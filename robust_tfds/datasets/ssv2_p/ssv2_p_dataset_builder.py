"""SSv2-P: Something-Something v2's validation videos, perturbed."""

import tensorflow_datasets as tfds

from robust_tfds.datasets import perturbed_videos
from robust_tfds.datasets.ssv2_p import sources


class Builder(perturbed_videos.PerturbedVideoBuilder):
  """The whole validation set, as the authors' counts imply."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = sources.INSTRUCTIONS
  SPLIT = "validation"
  BUILDER_CONFIGS = perturbed_videos.configs()

  def _info(self) -> tfds.core.DatasetInfo:
    return self.dataset_info_from_configs(
      features=self.features(tfds.features.ClassLabel(num_classes=174)),
      homepage="https://developer.qualcomm.com/software/ai-datasets/something-something",
    )

  def _sources(self, dl_manager):
    return sources.videos(dl_manager.manual_dir)
