"""A builder of a few made-up examples, as `inputs.Source` reads it.

It says that its files are ArrayRecord: these are read by position, without
TensorFlow.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds


def example(number: int, side: int = 2) -> dict[str, Any]:
  """A picture of one level, `number`."""
  return {
    "image": np.full((side, side + 1, 3), number, np.uint8),
    "example_id": f"example_{number}".encode(),
    "group_id": f"example_{number}".encode(),
    "frame": 0,
    "label": number % 3,
  }


class Builder:
  """What of a TFDS builder a source uses."""

  CATEGORY_IDS = ()

  def __init__(
    self, examples: Sequence[dict[str, Any]], *, any_size: bool = False
  ):
    """Holds the examples of the split `test`."""
    shape = (None, None, 3) if any_size else examples[0]["image"].shape
    features = {
      "image": types.SimpleNamespace(shape=shape),
      "label": tfds.features.ClassLabel(names=["a", "b", "c"]),
    }
    count = len(examples)
    split = types.SimpleNamespace(
      num_examples=count, num_bytes=100 * count, shard_lengths=[count]
    )
    self.info = types.SimpleNamespace(
      name="digits_c",
      full_name="digits_c/clean/1.0.0",
      version="1.0.0",
      splits={"test": split},
      features=features,
      file_format=types.SimpleNamespace(value="array_record"),
    )
    self.builder_config = types.SimpleNamespace(name="clean")
    self.reads = 0
    self._examples = examples

  def data_version(self) -> str:
    """The builder's version."""
    return self.info.version

  def made_with(self) -> str:
    return ""

  read_with = made_otherwise = made_with

  def as_data_source(self, split: str, decoders: Any) -> Builder:
    """By position; counts what is read."""
    assert split == "test"
    return self

  def __len__(self) -> int:
    return len(self._examples)

  def __getitem__(self, position: int) -> dict[str, Any]:
    self.reads += 1
    return self._examples[position]
