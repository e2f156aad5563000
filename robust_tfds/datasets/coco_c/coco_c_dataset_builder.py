"""COCO-C: COCO val2017 under 19 corruptions x 5, with boxes and masks."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import objects
from robust_tfds.building.sources import coco


class Builder(objects.Builder):
  """The Robust Detection Benchmark's COCO-C (Michaelis et al. 2019)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "coco_c:model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = coco.INSTRUCTIONS
  SPLIT = "validation"
  CLASSES = tuple(name for _, name in sorted(coco.categories().items()))
  CATEGORY_IDS = tuple(sorted(coco.categories()))
  PUBLISHED_EXAMPLES = 5_000
  HOMEPAGE = "https://cocodataset.org"

  def _sources(self, dl_manager: Any) -> list[objects.Source]:
    return coco.sources(dl_manager.manual_dir)
