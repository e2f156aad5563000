"""UCF101-DS: UCF101's classes under natural distribution shifts."""

import tensorflow_datasets as tfds

from robust_tfds.datasets import perturbed_videos
from robust_tfds.datasets.ucf101_ds import sources


class Builder(perturbed_videos.PerturbedVideoBuilder):
  """Clips with the shift they show and its category."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = sources.INSTRUCTIONS
  SPLIT = "test"
  BUILDER_CONFIGS = perturbed_videos.configs(())

  def _info(self) -> tfds.core.DatasetInfo:
    text = tfds.features.Text()
    return self.dataset_info_from_configs(
      features=self.features(
        tfds.features.ClassLabel(num_classes=101), shift=text, category=text
      ),
      homepage="https://www.crcv.ucf.edu/research/projects/ucf101-ds/",
    )

  def _sources(self, dl_manager):
    return sources.videos(dl_manager.manual_dir)
