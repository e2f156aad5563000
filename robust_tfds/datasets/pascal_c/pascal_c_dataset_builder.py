"""PASCAL-C: the VOC2007 test set under 19 corruptions x 5 severities."""

from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import objects
from robust_tfds.building.sources import voc


class Builder(objects.Builder):
  """The Robust Detection Benchmark's PASCAL-C (Michaelis et al. 2019)."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "pascal_c:model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = voc.INSTRUCTIONS
  CLASSES = voc.CLASSES
  MASKS = False
  DIFFICULT = True
  USUAL_PX = 433  # as many pixels as 500 x 375
  PUBLISHED_EXAMPLES = 4_952
  HOMEPAGE = "http://host.robots.ox.ac.uk/pascal/VOC/voc2007"

  def _sources(self, dl_manager: Any) -> list[objects.Source]:
    return voc.sources(dl_manager.manual_dir)
