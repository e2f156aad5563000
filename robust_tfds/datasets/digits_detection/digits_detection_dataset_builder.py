"""Digits to be found: scenes with boxes and masks, embedded, no download."""

import tensorflow_datasets as tfds

from robust_tfds.datasets import corrupted
from robust_tfds.datasets import detection
from robust_tfds.datasets import reproducible
from robust_tfds.datasets.digits_detection import scenes


class Builder(reproducible.Builder):
  """1,000 training and 200 test scenes of one to five digits."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}

  def _info(self) -> tfds.core.DatasetInfo:
    label = tfds.features.ClassLabel(num_classes=10)
    return self.dataset_info_from_configs(
      features=detection.features(label, masks=True, difficult=False),
      homepage="https://archive.ics.uci.edu/dataset/80",
    )

  def _split_generators(self, dl_manager):
    del dl_manager
    return {s: self._generate_examples(s) for s in scenes.COUNTS}

  def _generate_examples(self, split):
    for source in scenes.sources(split):
      image = source.read()
      size = image.shape[:2]
      objects = detection.checked(source.objects(size), size, source.example_id)
      row = (source, corrupted.encode(image, "raw"), size, objects)
      yield detection.example(row, masks=True, difficult=False)
