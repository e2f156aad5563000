"""The fields of a protobuf message, found without reading what they hold.

A model's file holds its weights inside its messages. Parsed as a whole, these are
in memory three times: as the file's bytes, in the message, and as arrays. So the
messages are cut up here: weights stay where they are until they are asked for, and
the rest, which is small, is read by who knows the message.

The encoding: protobuf.dev/programming-guides/encoding.
"""

import dataclasses
from collections.abc import Iterator

from robust_tfds import errors

_VARINT, _BYTES = 0, 2  # wire types
_FIXED = {1: 8, 5: 4}  # wire type -> bytes


@dataclasses.dataclass(frozen=True)
class Field:
  """A field of a message.

  Attributes:
    number: field number in the message's definition.
    whole: the field with its tag.
    value: the bytes that it holds, of text, messages and numbers of a fixed
      width; else empty.
    integer: the whole number that it holds, else None.
  """

  number: int
  whole: memoryview
  value: memoryview
  integer: int | None = None


def fields(message: memoryview) -> Iterator[Field]:
  """Read the fields of a message, in their order.

  Raises:
    UserError: no message: it ends within a field, or has unknown ones.
  """
  place = 0
  while place < len(message):
    start = place
    tag, place = _integer(message, place)
    kind = tag & 7
    if kind == _VARINT:
      held, place = _integer(message, place)
      yield Field(tag >> 3, message[start:place], message[:0], held)
      continue
    if kind == _BYTES:
      length, place = _integer(message, place)
    elif kind in _FIXED:
      length = _FIXED[kind]
    else:
      raise errors.UserError(f"byte {start} begins no field of a message.")
    end = place + length
    if end > len(message):
      raise errors.UserError("it ends within a field: it is cut off.")
    yield Field(tag >> 3, message[start:end], message[place:end])
    place = end


def integers(packed: memoryview) -> Iterator[int]:
  """Read the whole numbers that a field holds one after the other.

  Raises:
    UserError: it ends within one.
  """
  place = 0
  while place < len(packed):
    number, place = _integer(packed, place)
    yield number


def _integer(message: memoryview, place: int) -> tuple[int, int]:
  """Read (a whole number, the place after it): seven bits a byte, lowest first."""
  number = 0
  for count, byte in enumerate(message[place : place + 10]):
    number |= (byte & 0x7F) << 7 * count
    if byte < 0x80:
      return number, place + count + 1
  raise errors.UserError(f"byte {place} begins no whole number: it is damaged.")
