"""Digits to be labelled pixel by pixel: scenes with masks, embedded, no download."""

import dataclasses
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds.building import masks, source
from robust_tfds.coco import rle
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_detection import scenes

CLASSES = ("background", *(str(digit) for digit in range(10)))


@dataclasses.dataclass(frozen=True)
class Labels(source.Part):
  """The classes of a scene's pixels: 0 is background, k + 1 the digit k."""

  scene: scenes.Scene

  def labels(self) -> np.ndarray:
    """Return class ids, uint8 `[H, W]`."""
    size = self.scene.read().shape[:2]
    out = np.zeros(size, np.uint8)
    for found in self.scene.objects_in(size):
      assert found.mask is not None  # scenes have masks
      out[rle.decode(found.mask).astype(bool)] = found.label + 1
    return out


def sources(split: str) -> list[masks.Source]:
  """Return all scenes of a split: those of `digits_detection`."""
  return [
    masks.Source(scene.example_id, picture, Labels(picture))
    for n, scene in enumerate(scenes.sources(split))
    for picture in [scenes.Scene(split, n, 0)]
  ]


class Builder(masks.Builder):
  """1,000 training and 200 test scenes of one to five digits."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  FAMILY = None
  EDITION = ""
  OTHER_SPLITS = {"train": 0}
  CODECS = ()
  CLASSES = CLASSES
  HOMEPAGE = digits.HOMEPAGE

  def _sources(self, dl_manager: Any) -> list[masks.Source]:
    del dl_manager
    return sources(self.SPLIT)

  def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
    del dl_manager
    return {s: self._generate_examples((s, sources(s))) for s in scenes.COUNTS}
