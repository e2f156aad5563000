"""Files whose bytes are the same in every run and in every process.

TFDS serialises a protocol buffer's map in the order of a hash that is seeded per
process, so that two builds of equal examples differ in their bytes, and so do the
records that two Beam workers write.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from tensorflow_datasets.core import writer
from tensorflow_datasets.proto import tf_example_pb2


class OrderedWriter(writer.ExampleWriter):
  """A writer that writes every record with its features in a fixed order.

  It is used by TFDS's documented hook for storage (`_example_writer`); TFDS
  also sends it to the workers of a Beam pipeline.
  """

  def write(
    self, path: str | os.PathLike, examples: Iterable[tuple[Any, bytes]]
  ) -> Any:
    """Write (key, serialised example) pairs, see the parent class."""
    return super().write(path, _ordered(examples))


def _ordered(
  examples: Iterable[tuple[Any, bytes]],
) -> Iterator[tuple[Any, bytes]]:
  for key, record in examples:
    example = tf_example_pb2.Example.FromString(record)
    yield key, example.SerializeToString(deterministic=True)
