"""A reader of the arrays in a .caffemodel: it parses only the messages that hold them.

Field numbers are those of BVLC/caffe src/caffe/proto/caffe.proto:
NetParameter.layer = 100 (LayerParameter: name = 1, type = 2, blobs = 7) and, in
older files, NetParameter.layers = 2 (V1LayerParameter: name = 4, type = 5,
blobs = 6). BlobProto: num, channels, height, width = 1..4, data = 5, shape = 7
(dim = 1), double_data = 8.
"""

import math

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import protobuf

_LAYER, _V1_LAYER = 100, 2
# Message -> (field of the name, field of the blobs).
_FIELDS = {_LAYER: (1, 7), _V1_LAYER: (4, 6)}


def read(data: bytes) -> dict[str, np.ndarray]:
  """Read float32 arrays by `<layer>/weight`, `<layer>/bias`, ..., in file order.

  Weights of convolutions are OIHW. A layer's third and later arrays (of Caffe's
  BatchNorm, for one) are called `<layer>/2`, `<layer>/3`, ...

  Raises:
    ValueError: the data is no caffemodel, or truncated.
  """
  arrays: dict[str, np.ndarray] = {}
  for layer in protobuf.fields(memoryview(data)):
    if layer.number not in _FIELDS:
      continue
    name_field, blob_field = _FIELDS[layer.number]
    name, blobs = "", []
    for part in protobuf.fields(layer.value):
      if part.number == name_field:
        name = _text(part.value)
      elif part.number == blob_field:
        blobs.append(_blob(part.value))
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
  for field in protobuf.fields(data):
    if field.number in (1, 2, 3, 4) and field.integer is not None:
      old[field.number - 1] = field.integer
    elif field.number == 7:
      shape = _dims(field.value)
    elif field.number in (5, 8):
      width = "<f4" if field.number == 5 else "<f8"
      if len(field.value) % int(width[2:]):
        raise errors.UserError(f"{len(field.value)} bytes of {width} numbers")
      values.append(np.frombuffer(field.value, width))
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
  for field in protobuf.fields(data):
    if field.integer is not None:
      dims.append(field.integer)
    else:
      dims += protobuf.integers(field.value)
  return dims
