"""The fields of a protobuf message, found without reading what they hold.

A model's file holds its weights inside its messages. Parsed as a whole, these are
in memory three times: as the file's bytes, in the message, and as arrays. So the
messages are cut up here: weights stay where they are until they are asked for, and
the rest, which is small, is parsed by `onnx`.

The encoding: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from robust_tfds import errors

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types


@dataclasses.dataclass(frozen=True)
class Field:
  """A field of a message.

  Attributes:
    number: of the message's definition.
    whole: the field with its tag.
    value: what it holds, of text, bytes and messages; else empty.
  """

  number: int
  whole: memoryview
  value: memoryview


def fields(message: memoryview) -> Iterator[Field]:
  """The fields of a message, in their order.

  Raises:
    UserError: no message: it ends within a field, or has unknown ones.
  """
  place = 0
  while place < len(message):
    start = place
    tag, place = _varint(message, place)
    length = 0
    if tag & 7 == _VARINT:
      _, place = _varint(message, place)
    elif tag & 7 == _FIXED64:
      place += 8
    elif tag & 7 == _FIXED32:
      place += 4
    elif tag & 7 == _BYTES:
      length, place = _varint(message, place)
      place += length
    else:
      raise errors.UserError(f"byte {start} begins no field of a message.")
    if place > len(message):
      raise errors.UserError("it ends within a field: it is cut off.")
    yield Field(tag >> 3, message[start:place], message[place - length : place])


def _varint(message: memoryview, place: int) -> tuple[int, int]:
  """(a whole number, where it ends): seven bits a byte, the lowest first."""
  number = 0
  for count, byte in enumerate(message[place : place + 10]):
    number |= (byte & 0x7F) << 7 * count
    if byte < 0x80:
      return number, place + count + 1
  raise errors.UserError(f"byte {place} begins no whole number: it is damaged.")
