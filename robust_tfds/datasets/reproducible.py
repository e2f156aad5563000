"""A builder whose files are the same bytes in every run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import tensorflow_datasets as tfds
from tensorflow_datasets.core import example_serializer


class Builder(
  tfds.core.GeneratorBasedBuilder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """Writes examples with their features in a fixed order.

  TFDS serialises a protocol buffer's map in the order of a hash that is seeded
  per process, so that two builds of equal examples differ in their bytes.
  """

  def _download_and_prepare(self, *args: Any, **kwargs: Any) -> None:
    with _fixed_order():
      super()._download_and_prepare(*args, **kwargs)


@contextlib.contextmanager
def _fixed_order() -> Iterator[None]:
  def serialize(self, example):
    return self.get_tf_example(example).SerializeToString(deterministic=True)

  with mock.patch.object(
    example_serializer.ExampleSerializer, "serialize_example", serialize
  ):
    yield
