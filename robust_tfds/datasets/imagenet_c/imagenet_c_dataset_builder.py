"""ImageNet-C: the ILSVRC 2012 validation set under 19 corruptions x 5."""

import functools
from collections.abc import Iterator
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.datasets import base
from robust_tfds.datasets import geometry
from robust_tfds.datasets import pictures
from robust_tfds.datasets.sources import imagenet


class Builder(pictures.Builder):
  """ImageNet-C as published: crop 224, corruption, JPEG quality 85."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  MANUAL_DOWNLOAD_INSTRUCTIONS = imagenet.INSTRUCTIONS
  EDITION = "imagenet"
  SPLIT = "validation"
  CODECS = (pictures.JPEG85, pictures.RAW, base.PUBLISHED)
  GEOMETRY = "imagenet"
  CLASSES = tuple(imagenet.wnids())
  HOMEPAGE = "https://github.com/hendrycks/robustness"

  def _sources(self, dl_manager: Any) -> list[pictures.Source]:
    rule = self.config.geometry
    return [
      pictures.Source(f.name, f.label, functools.partial(f.picture, rule))
      for f in imagenet.clean(dl_manager.manual_dir)
    ]

  def _published(self, dl_manager: Any) -> Iterator[pictures.Row]:
    condition = self.config.condition
    files = imagenet.published(
      dl_manager.manual_dir, condition.name, condition.level
    )
    for file in files:
      data = file.data()
      geometry.decode(data, "whole", file.name)  # refuses broken files
      yield file.name, file.label, data
