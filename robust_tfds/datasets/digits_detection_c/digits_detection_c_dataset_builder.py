"""The test scenes of digits under 19 corruptions x 5 severities, embedded."""

import tensorflow_datasets as tfds

from robust_tfds.datasets import corrupted
from robust_tfds.datasets import detection
from robust_tfds.datasets.digits_detection import scenes


class Builder(detection.DetectionBuilder):
  """The Robust Detection Benchmark's protocol on `digits_detection`."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  SPLIT = "test"
  BUILDER_CONFIGS = corrupted.configs("raw", others=("jpeg85",))

  def _info(self) -> tfds.core.DatasetInfo:
    return self.dataset_info_from_configs(
      features=self.detection_features([str(d) for d in range(10)]),
      homepage="https://archive.ics.uci.edu/dataset/80",
    )

  def _sources(self, dl_manager):
    del dl_manager
    return scenes.sources(self.SPLIT)
