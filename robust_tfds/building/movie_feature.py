"""A TFDS feature that keeps videos as the bytes of their files.

TFDS's own `Video` keeps single pictures; published sets are videos, whose codec
is part of the benchmark. Reading decodes them through PyAV, in tf.data and in
`as_data_source` alike.

The files of every set name this module (`features.json`): it stays here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds
from tensorflow_datasets.core.features import feature as feature_lib

from robust_tfds.reading import videos as video_files
from robust_tfds.storage import paths


class Movie(tfds.features.FeatureConnector):
  """Stored as encoded bytes, read as uint8 `[T, H, W, 3]`."""

  def __init__(self, shape: Sequence[int | None]):
    """Make the feature of one shape.

    Args:
      shape: (frames, height, width, 3), None where it varies.
    """
    super().__init__()
    self._shape = tuple(shape)

  def get_tensor_info(self) -> feature_lib.TensorInfo:
    """Return shape and dtype of what is read."""
    return feature_lib.TensorInfo(shape=self._shape, dtype=np.uint8)

  def get_serialized_info(self) -> feature_lib.TensorInfo:
    """Return shape and dtype of what is stored."""
    return feature_lib.TensorInfo(shape=(), dtype=np.object_)

  def encode_example(self, example_data: bytes | str | os.PathLike) -> bytes:
    """Return the bytes as they are, or those of a file."""
    if isinstance(example_data, bytes):
      return example_data
    return paths.read_bytes(example_data)

  def decode_example(self, example_data: Any) -> Any:
    """Decode a scalar string tensor to frames."""
    import tensorflow as tf

    frames = tf.numpy_function(
      self.decode_example_np, [example_data], tf.uint8, stateful=False
    )
    frames.set_shape(self._shape)
    return frames

  def decode_example_np(self, example_data: bytes) -> np.ndarray:
    """Decode bytes to frames.

    Raises:
      video_files.BrokenVideoError: unreadable, or of another shape.
    """
    frames = video_files.decode(example_data)
    check(frames.shape, self._shape, f"A video of {len(example_data)} bytes")
    return frames

  def to_json_content(self) -> dict[str, Any]:
    """Return the content for features.json."""
    return {"shape": [-1 if n is None else n for n in self._shape]}

  @classmethod
  def from_json_content(cls, value: Any) -> Movie:
    """Create the feature from the content of features.json."""
    return cls([None if n == -1 else n for n in value["shape"]])

  def repr_html(self, ex: np.ndarray) -> str:
    """Return the first frame as HTML, for notebooks."""
    return tfds.features.Image().repr_html(ex[0])


def check(
  got: Sequence[int], expected: Sequence[int | None], what: str
) -> None:
  """Raise BrokenVideoError unless a video has the shape it should have."""
  fits = len(got) == len(expected) and all(
    e is None or g == e for g, e in zip(got, expected)
  )
  if fits:
    return
  raise video_files.BrokenVideoError(
    f"{what} holds {got[0]} frames of {got[1]}x{got[2]} px, expected"
    f" {_any(expected[0])} of {_any(expected[1])}x{_any(expected[2])}. It is"
    " truncated, or of another edition; replace the file."
  )


def _any(n: int | None) -> str:
  return "any" if n is None else str(n)
