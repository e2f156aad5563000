"""Traffic signs in drawn streets at 64x64 RGB: embedded, no download."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds.building import embedded, pictures
from robust_tfds.building import source as source_lib
from robust_tfds.datasets.signs import street

HOMEPAGE = "https://unece.org/transport/road-safety"
SIDE_PX = street.SIDE_PX
CLASSES = tuple(street.SIGNS)
COUNTS = {"train": 1920, "test": 240}  # as many of each class


class Builder(embedded.Clean):
  """1,920 training and 240 test pictures of twelve traffic signs."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  CLASSES = CLASSES
  SIDE_PX = SIDE_PX
  HOMEPAGE = HOMEPAGE

  def _split_pictures(self, split: str) -> Sequence[pictures.Source]:
    return sources(split)


@dataclasses.dataclass(frozen=True)
class Scene(source_lib.Part):
  """A street with a sign, drawn when it is asked for."""

  example_id: str
  sign: str

  def read(self) -> np.ndarray:
    """Draw the scene: uint8 `[64, 64, 3]`."""
    return street.draw(self.example_id, self.sign)


def sources(split: str) -> list[pictures.Source]:
  """List the pictures of a split, which are drawn when they are read."""
  return [
    pictures.Source(name, label, Scene(name, CLASSES[label]))
    for name, label in labels(split).items()
  ]


@functools.cache
def labels(split: str) -> Mapping[str, int]:
  """Return id -> true class of a split's pictures; an id is like `test_0042`."""
  return {f"{split}_{n:04d}": n % len(CLASSES) for n in range(COUNTS[split])}
