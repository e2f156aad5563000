"""Handwritten digits of scikit-learn at 32x32 RGB: embedded, no download."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import resizing
from robust_tfds.building import embedded, pictures
from robust_tfds.building import source as source_lib

HOMEPAGE = "https://archive.ics.uci.edu/dataset/80"
SIDE_PX = 32
_TEST_EVERY = 5


class Builder(embedded.Clean):
  """1,797 digits of 8x8 grey levels, enlarged to 32x32 RGB."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  CLASSES = 10
  SIDE_PX = SIDE_PX
  HOMEPAGE = HOMEPAGE

  def _split_pictures(self, split: str) -> Sequence[pictures.Source]:
    return sources(split)


@dataclasses.dataclass(frozen=True)
class Digit(source_lib.Part):
  """A digit by its row in scikit-learn's order."""

  row: int

  def read(self) -> np.ndarray:
    """Return the digit's picture, see `read`."""
    return read(self.row)


def sources(split: str) -> list[pictures.Source]:
  """List the digits of a split, which are read when they are needed."""
  return [
    pictures.Source(example_id(i), label, Digit(i)) for i, label in rows(split)
  ]


def rows(split: str) -> list[tuple[int, int]]:
  """List (row in scikit-learn's order, label) of a split; every fifth is test."""
  labels = _load().target
  test = split == "test"
  return [
    (i, int(label))
    for i, label in enumerate(labels)
    if (i % _TEST_EVERY == _TEST_EVERY - 1) == test
  ]


def example_id(row: int) -> str:
  """Return the stable id of a row: `digit_0042`."""
  return f"digit_{row:04d}"


@functools.cache
def labels(split: str) -> Mapping[str, int]:
  """Return id -> true class of a split's digits."""
  return {example_id(i): label for i, label in rows(split)}


def read(row: int) -> np.ndarray:
  """Read uint8 `[32, 32, 3]`: levels 0..16 to 0..255, enlarged bilinearly."""
  levels = np.round(_load().images[row] * (255 / 16)).astype(np.uint8)
  taps = resizing.taps(len(levels), SIDE_PX)
  enlarged = resizing.resized(levels, taps, taps)
  return np.repeat(enlarged[..., None], 3, axis=-1)


@functools.cache
def _load() -> Any:
  from sklearn import datasets

  return datasets.load_digits()
