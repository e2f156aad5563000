"""Handwritten digits of scikit-learn at 32x32 RGB: embedded, no download."""

import functools

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds.datasets import reproducible

_TEST_EVERY = 5
_SIDE_PX = 32


class Builder(reproducible.Builder):
  """1,797 digits of 8x8 grey levels, enlarged to 32x32 RGB."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}

  def _info(self) -> tfds.core.DatasetInfo:
    return self.dataset_info_from_configs(
      features=tfds.features.FeaturesDict(
        {
          "image": tfds.features.Image(
            shape=(_SIDE_PX, _SIDE_PX, 3), encoding_format="png"
          ),
          "label": tfds.features.ClassLabel(num_classes=10),
          "example_id": tfds.features.Text(),
          "group_id": tfds.features.Text(),
          "frame": np.int32,
        }
      ),
      supervised_keys=("image", "label"),
      homepage="https://archive.ics.uci.edu/dataset/80",
    )

  def _split_generators(self, dl_manager):
    del dl_manager
    return {s: self._generate_examples(s) for s in ("train", "test")}

  def _generate_examples(self, split):
    for i, label in rows(split):
      name = example_id(i)
      yield (
        name,
        {
          "image": read(i),
          "label": label,
          "example_id": name,
          "group_id": name,
          "frame": 0,
        },
      )


def rows(split: str) -> list[tuple[int, int]]:
  """(row in scikit-learn's order, label) of a split; every fifth is test."""
  labels = _load().target
  test = split == "test"
  return [
    (i, int(label))
    for i, label in enumerate(labels)
    if (i % _TEST_EVERY == _TEST_EVERY - 1) == test
  ]


def example_id(row: int) -> str:
  """Stable id of a row: `digit_0042`."""
  return f"digit_{row:04d}"


def read(row: int) -> np.ndarray:
  """uint8 `[32, 32, 3]`: levels 0..16 to 0..255, enlarged bilinearly."""
  from PIL import Image

  levels = np.round(_load().images[row] * (255 / 16)).astype(np.uint8)
  picture = Image.fromarray(levels)
  size = (_SIDE_PX, _SIDE_PX)
  enlarged = np.asarray(picture.resize(size, Image.Resampling.BILINEAR))
  return np.repeat(enlarged[..., None], 3, axis=-1)


@functools.cache
def _load():
  from sklearn import datasets

  return datasets.load_digits()
