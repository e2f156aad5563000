"""Digits as subtypes of two types, with and without a loop: embedded."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import pictures, subtypes
from robust_tfds.datasets.digits import digits_dataset_builder as digits

_LOOP, _OPEN = 0, 1


class Builder(subtypes.Builder):
  """Seven digits are seen, three are not."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "subtypes"
  CODECS = (pictures.RAW,)
  CLASSES = ("loop", "open")
  SUBTYPES = {
    **dict.fromkeys("068", (_LOOP, subtypes.SEEN)),
    **dict.fromkeys("1257", (_OPEN, subtypes.SEEN)),
    **dict.fromkeys("9", (_LOOP, subtypes.UNSEEN)),
    **dict.fromkeys("34", (_OPEN, subtypes.UNSEEN)),
  }
  SIDE_PX = digits.SIDE_PX
  HOMEPAGE = digits.HOMEPAGE

  def _split_sources(
    self, dl_manager: Any
  ) -> Mapping[str, list[pictures.Source]]:
    del dl_manager
    train, test = (digits.sources(split) for split in ("train", "test"))
    listed = {
      subtypes.TRAIN: train,
      subtypes.SEEN: test,
      subtypes.UNSEEN: [*train, *test],
    }
    return {
      split: [
        _subtype_source(each, self.SUBTYPES[str(each.label)][0])
        for each in sources
        if str(each.label) in self.subtypes_of(split)
      ]
      for split, sources in listed.items()
    }


def _subtype_source(digit: pictures.Source, label: int) -> pictures.Source:
  """Label a digit with its type, and put its subtype into the id."""
  named = f"{digit.label}/{digit.example_id}"
  return dataclasses.replace(digit, example_id=named, label=label)
