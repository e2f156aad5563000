"""VOC 2012 for segmentation under 19 corruptions x 5 severities."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import masks
from robust_tfds.building.sources import segmentation


class Builder(masks.Builder):
  """VOC 2012's `Segmentation/val` with 21 classes (Kamann & Rother 2020)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "segmentation_c:voc_seg_c,model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = segmentation.VOC_INSTRUCTIONS
  SPLIT = "validation"
  CLASSES = segmentation.VOC_CLASSES
  USUAL_PX = 430  # about 500 x 375
  PUBLISHED_EXAMPLES = 1449
  HOMEPAGE = "http://host.robots.ox.ac.uk/pascal/VOC/voc2012"

  def _sources(self, dl_manager: Any) -> list[masks.Source]:
    return segmentation.voc_sources(dl_manager.manual_dir)
