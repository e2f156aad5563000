"""ADE20K's SceneParse150 under 19 corruptions x 5 severities."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import masks
from robust_tfds.building.sources import segmentation


class Builder(masks.Builder):
  """SceneParse150's validation pictures with 150 classes (Kamann & Rother 2020)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "segmentation_c:ade20k_c,model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = segmentation.ADE20K_INSTRUCTIONS
  SPLIT = "validation"
  CLASSES = segmentation.ADE20K_CLASSES
  USUAL_PX = 590  # about the mean of the set's
  PUBLISHED_EXAMPLES = 2000
  HOMEPAGE = "http://sceneparsing.csail.mit.edu"

  def _sources(self, dl_manager: Any) -> list[masks.Source]:
    return segmentation.ade20k_sources(dl_manager.manual_dir)
