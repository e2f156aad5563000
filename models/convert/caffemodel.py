"""Reads the arrays of a .caffemodel: protobuf's wire format, no more.

Field numbers are of BVLC/caffe src/caffe/proto/caffe.proto: NetParameter.layer
= 100 (LayerParameter: name = 1, type = 2, blobs = 7) and, in older files,
NetParameter.layers = 2 (V1LayerParameter: name = 4, type = 5, blobs = 6).
BlobProto: num, channels, height, width = 1..4, data = 5, shape = 7 (dim = 1),
double_data = 8.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robust_tfds import errors

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LAYER, _V1_LAYER = 100, 2
# Message -> (field of the name, field of the blobs).
_FIELDS = {_LAYER: (1, 7), _V1_LAYER: (4, 6)}


class _Field(NamedTuple):
  """A field of a message: a number, or bytes."""

  number: int
  kind: int
  varint: int
  data: memoryview


def read(data: bytes) -> dict[str, np.ndarray]:
  """`<layer>/weight`, `<layer>/bias`, ... -> float32 array, in file order.

  Weights of convolutions are OIHW. A layer's third and later arrays (of Caffe's
  BatchNorm, for one) are called `<layer>/2`, `<layer>/3`, ...

  Raises:
    ValueError: not a caffemodel, or truncated.
  """
  arrays: dict[str, np.ndarray] = {}
  for layer in _fields(memoryview(data)):
    if layer.number not in _FIELDS or layer.kind != _BYTES:
      continue
    name_field, blob_field = _FIELDS[layer.number]
    name, blobs = "", []
    for part in _fields(layer.data):
      if part.number == name_field and part.kind == _BYTES:
        name = _text(part.data)
      elif part.number == blob_field and part.kind == _BYTES:
        blobs.append(_blob(part.data))
    for i, blob in enumerate(blobs):
      key = f"{name}/{('weight', 'bias')[i] if i < 2 else i}"
      if key in arrays:
        raise errors.UserError(f"the array {key!r} stands twice")
      arrays[key] = blob
  if not arrays:
    raise errors.UserError("no layer with arrays in it")
  return arrays


def _text(data: memoryview) -> str:
  try:
    return bytes(data).decode("utf-8")
  except UnicodeDecodeError as e:
    raise errors.UserError("the name of a layer is not UTF-8") from e


def _blob(data: memoryview) -> np.ndarray:
  old, values = [1, 1, 1, 1], []
  shape: list[int] | None = None
  for field in _fields(data):
    if field.number in (1, 2, 3, 4) and field.kind == _VARINT:
      old[field.number - 1] = field.varint
    elif field.number == 7:
      shape = _dims(field.data)
    elif field.number in (5, 8):
      width = "<f4" if field.number == 5 else "<f8"
      if len(field.data) % int(width[2:]):
        raise errors.UserError(f"{len(field.data)} bytes of {width} numbers")
      values.append(np.frombuffer(field.data, width))
  if not values:
    raise errors.UserError("an array without numbers")
  flat = np.concatenate(values).astype(np.float32)
  if shape is None:
    # Old files pad every shape to four axes: a bias is [1, 1, 1, n].
    shape = [n for n in old if n != 1] or [1] if old[:2] == [1, 1] else old
  if math.prod(shape) != flat.size:
    raise errors.UserError(f"{flat.size} numbers for shape {tuple(shape)}")
  return flat.reshape(shape)


def _dims(data: memoryview) -> list[int]:
  dims: list[int] = []
  for field in _fields(data):
    if field.kind == _VARINT:
      dims.append(field.varint)
    else:
      position = 0
      while position < len(field.data):
        dim, position = _varint(field.data, position)
        dims.append(dim)
  return dims


def _fields(view: memoryview) -> Iterator[_Field]:
  """Each field of a message."""
  position = 0
  while position < len(view):
    tag, position = _varint(view, position)
    number, kind = tag >> 3, tag & 7
    if kind == _VARINT:
      value, position = _varint(view, position)
      yield _Field(number, kind, value, view[:0])
      continue
    if kind == _BYTES:
      size, position = _varint(view, position)
    elif kind in (_FIXED32, _FIXED64):
      size = 4 if kind == _FIXED32 else 8
    else:
      raise errors.UserError(f"wire type {kind} at byte {position}")
    if position + size > len(view):
      raise errors.UserError(f"ends at byte {len(view)} inside a field")
    yield _Field(number, kind, 0, view[position : position + size])
    position += size


def _varint(view: memoryview, position: int) -> tuple[int, int]:
  value, shift = 0, 0
  while True:
    if position >= len(view):
      raise errors.UserError(f"ends at byte {len(view)} inside a number")
    byte = view[position]
    value |= (byte & 0x7F) << shift
    position, shift = position + 1, shift + 7
    if not byte & 0x80:
      return value, position
    if shift > 63:
      raise errors.UserError("a number of more than 64 bits")
