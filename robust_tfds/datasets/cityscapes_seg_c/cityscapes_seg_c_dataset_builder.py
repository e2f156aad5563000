"""Cityscapes val for segmentation under 19 corruptions x 5 severities."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import masks
from robust_tfds.building.sources import segmentation


class Builder(masks.Builder):
  """Cityscapes val with its 19 train ids (Kamann & Rother 2020)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "segmentation_c:cityscapes_seg_c,model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = segmentation.CITYSCAPES_INSTRUCTIONS
  SPLIT = "validation"
  CLASSES = segmentation.CITYSCAPES_CLASSES
  USUAL_PX = 1448  # as many pixels as 2048 x 1024
  PUBLISHED_EXAMPLES = 500
  HOMEPAGE = "https://www.cityscapes-dataset.com"
  CITIES = True

  def _sources(self, dl_manager: Any) -> list[masks.Source]:
    return segmentation.cityscapes_sources(dl_manager.manual_dir)
