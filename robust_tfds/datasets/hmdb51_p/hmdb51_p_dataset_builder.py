"""HMDB51-P: HMDB51's test videos under 18 perturbations."""

import tensorflow_datasets as tfds

from robust_tfds.datasets import perturbed_videos
from robust_tfds.datasets.hmdb51_p import sources


class Builder(perturbed_videos.PerturbedVideoBuilder):
  """Split 1, as the authors' counts imply (docs/specs/video.md section 1)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = sources.INSTRUCTIONS
  SPLIT = "test"
  BUILDER_CONFIGS = perturbed_videos.configs()

  def _info(self) -> tfds.core.DatasetInfo:
    return self.dataset_info_from_configs(
      features=self.features(tfds.features.ClassLabel(num_classes=51)),
      homepage="https://serre-lab.clps.brown.edu/resource/hmdb-a-large-human-motion-database/",
    )

  def _sources(self, dl_manager):
    return sources.videos(dl_manager.manual_dir)
