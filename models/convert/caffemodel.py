"""Reads the arrays of a .caffemodel: protobuf's wire format, no more.

Field numbers are of BVLC/caffe src/caffe/proto/caffe.proto: NetParameter.layer
= 100 (LayerParameter: name = 1, type = 2, blobs = 7) and, in older files,
NetParameter.layers = 2 (V1LayerParameter: name = 4, type = 5, blobs = 6).
BlobProto: num, channels, height, width = 1..4, data = 5, shape = 7 (dim = 1),
double_data = 8.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LAYER, _V1_LAYER = 100, 2
# Message -> (field of the name, field of the blobs).
_FIELDS = {_LAYER: (1, 7), _V1_LAYER: (4, 6)}


def read(data: bytes) -> dict[str, np.ndarray]:
  """`<layer>/weight`, `<layer>/bias`, ... -> float32 array, in file order.

  Weights of convolutions are OIHW. A layer's third and later arrays (of Caffe's
  BatchNorm, for one) are called `<layer>/2`, `<layer>/3`, ...

  Raises:
    ValueError: not a caffemodel, or truncated.
  """
  arrays: dict[str, np.ndarray] = {}
  for field, kind, layer in _messages(data):
    if field not in _FIELDS or kind != _BYTES:
      continue
    name_field, blob_field = _FIELDS[field]
    name, blobs = "", []
    for inner, inner_kind, value in _messages(layer):
      if inner == name_field and inner_kind == _BYTES:
        name = bytes(value).decode("utf-8")
      elif inner == blob_field and inner_kind == _BYTES:
        blobs.append(_blob(value))
    for i, blob in enumerate(blobs):
      arrays[f"{name}/{('weight', 'bias')[i] if i < 2 else i}"] = blob
  if not arrays:
    raise ValueError("no layer with arrays in it")
  return arrays


def _blob(data: memoryview) -> np.ndarray:
  old, shape, values = [1, 1, 1, 1], None, []
  for field, kind, value in _messages(data):
    if field in (1, 2, 3, 4) and kind == _VARINT:
      old[field - 1] = value
    elif field == 7:
      shape = _dims(value)
    elif field in (5, 8):
      width = "<f4" if field == 5 else "<f8"
      values.append(np.frombuffer(value, width))
  if not values:
    raise ValueError("an array without numbers")
  flat = np.concatenate(values).astype(np.float32)
  if shape is None:
    # Old files pad every shape to four axes: a bias is [1, 1, 1, n].
    shape = [n for n in old if n != 1] or [1] if old[:2] == [1, 1] else old
  if int(np.prod(shape)) != flat.size:
    raise ValueError(f"{flat.size} numbers for shape {tuple(shape)}")
  return flat.reshape(shape)


def _dims(data: memoryview) -> list[int]:
  dims: list[int] = []
  for _, kind, value in _messages(data):
    if kind == _VARINT:
      dims.append(value)
    else:
      position = 0
      while position < len(value):
        dim, position = _varint(value, position)
        dims.append(dim)
  return dims


def _messages(data) -> Iterator[tuple[int, int, memoryview | int]]:
  """(field, wire type, value) of each field of a message."""
  view, position = memoryview(data), 0
  while position < len(view):
    tag, position = _varint(view, position)
    field, kind = tag >> 3, tag & 7
    if kind == _VARINT:
      value, position = _varint(view, position)
      yield field, kind, value
      continue
    if kind == _BYTES:
      size, position = _varint(view, position)
    elif kind in (_FIXED32, _FIXED64):
      size = 4 if kind == _FIXED32 else 8
    else:
      raise ValueError(f"wire type {kind} at byte {position}")
    if position + size > len(view):
      raise ValueError(f"ends at byte {len(view)} inside a field")
    yield field, kind, view[position : position + size]
    position += size


def _varint(view, position: int) -> tuple[int, int]:
  value, shift = 0, 0
  while True:
    if position >= len(view):
      raise ValueError(f"ends at byte {len(view)} inside a number")
    byte = view[position]
    value |= (byte & 0x7F) << shift
    position, shift = position + 1, shift + 7
    if not byte & 0x80:
      return value, position
    if shift > 63:
      raise ValueError("a number of more than 64 bits")
