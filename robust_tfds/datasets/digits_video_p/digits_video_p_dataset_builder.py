"""Digits in motion under the 18 video perturbations, embedded."""

import functools

import tensorflow_datasets as tfds

from robust_tfds.datasets import perturbed_videos
from robust_tfds.datasets.digits_video import (
  digits_video_dataset_builder as own,
)


class Builder(perturbed_videos.PerturbedVideoBuilder):
  """The test videos of `digits_video`."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  SPLIT = "test"
  BUILDER_CONFIGS = perturbed_videos.configs()

  def _info(self) -> tfds.core.DatasetInfo:
    return self.dataset_info_from_configs(
      features=self.features(tfds.features.ClassLabel(names=own.CLASSES)),
      homepage="https://archive.ics.uci.edu/dataset/80",
    )

  def _sources(self, dl_manager):
    del dl_manager
    return [
      perturbed_videos.Source(
        name, label, functools.partial(own.encoded, self.SPLIT, i), own.FPS
      )
      for i, (name, label) in enumerate(own.sources(self.SPLIT))
    ]
