"""ONNX files: the graph of operators, and its weights, which are read on demand.

Weights may lie in files beside the model's; a path that leaves the model's folder
is refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import math
import mmap
import os
import pathlib
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from models.adapters.onnx_graph.operators import dtypes
from models.adapters.onnx_graph.operators.node import Node
from robust_tfds import errors
from robust_tfds.reading import protobuf
from robust_tfds.storage import paths

if TYPE_CHECKING:
  import onnx

# onnx.proto3: the fields that hold the weights.
_MODEL_GRAPH = 7
_GRAPH_INITIALIZER = 5
_TENSOR_RAW_DATA = 9
# The oldest operators with today's broadcasting.
_MIN_OPSET = 7
_NONE: Mapping[str, Any] = types.MappingProxyType({})


@dataclasses.dataclass(frozen=True)
class Tensor:
  """An array of weights, which is not read yet.

  Attributes:
    proto: its name, dtype and shape, as the file states them.
    raw: its bytes, if they lie in the model's file.
    place: path of the file that holds it instead.
  """

  proto: onnx.TensorProto
  raw: memoryview | None = None
  place: pathlib.Path | None = None

  def array(self) -> np.ndarray:
    """Return a copy of the numbers.

    Raises:
      UserError: there are fewer or more bytes than the shape needs.
    """
    from onnx import numpy_helper

    if self.raw is None and self.place is None:
      return np.asarray(numpy_helper.to_array(self.proto))
    dtype = dtypes.dtype_of(self.proto.data_type)
    shape = tuple(self.proto.dims)
    size = math.prod(shape) * dtype.itemsize
    if self.place is not None:
      return self._external(dtype, shape, size)
    if len(self.raw or b"") != size:
      raise self._size_error(len(self.raw or b""), shape, dtype)
    return np.frombuffer(self.raw or b"", dtype).reshape(shape).copy()

  def _external(
    self, dtype: np.dtype, shape: tuple[int, ...], size: int
  ) -> np.ndarray:
    entries = {e.key: e.value for e in self.proto.external_data}
    offset = int(entries.get("offset", 0))
    length = int(entries.get("length", size))
    room = paths.state(self.place).size - offset  # type: ignore[arg-type]
    if length != size or offset < 0 or room < size:
      raise self._size_error(min(length, room), shape, dtype)
    array = np.empty(shape, dtype)
    with io.FileIO(self.place or "") as file:
      file.seek(offset)
      view = array.reshape(-1).view(np.uint8).data
      while view and (count := file.readinto(view)):
        view = view[count:]
    return array

  def _size_error(
    self, size: int, shape: tuple[int, ...], dtype: np.dtype
  ) -> errors.UserError:
    return errors.UserError(
      f"{self.proto.name} has {size} bytes, expected {dtype} {list(shape)}."
    )


@dataclasses.dataclass(frozen=True)
class Input:
  """An input of a graph.

  Attributes:
    name: name of the value.
    dtype: dtype of its elements.
    shape: its sides; None if a side is free.
  """

  name: str
  dtype: np.dtype
  shape: tuple[int | None, ...]


@dataclasses.dataclass(frozen=True)
class Graph:
  """A graph of operators, or a branch of one.

  Attributes:
    nodes: the operators, in the order in which they can run.
    inputs: the inputs without weights.
    outputs: names of values.
    tensors: the weights by name.
    digest: sha256 of the nodes; '' for a branch.
  """

  nodes: tuple[Node, ...]
  inputs: tuple[Input, ...]
  outputs: tuple[str, ...]
  tensors: Mapping[str, Tensor]
  digest: str = ""

  @property
  def files(self) -> list[pathlib.Path]:
    """The files that hold weights, without the model's own."""
    places = {t.place for t in self.tensors.values() if t.place is not None}
    return sorted(places)


def read(path: str) -> Graph:
  """Read the graph of a local file.

  Raises:
    UserError: the file is damaged, too old, or has weights outside the model's
      folder.
  """
  return from_model(*_cut(path))


def from_model(
  model: onnx.ModelProto, tensors: Mapping[str, Tensor] = _NONE
) -> Graph:
  """Return the graph of a model.

  Args:
    model: the message, which is changed.
    tensors: weights that were cut out of it.

  Raises:
    UserError: it holds no graph, or is too old.
  """
  import onnx
  from onnx import inliner

  del model.graph.metadata_props[:]
  model = inliner.inline_local_functions(model) if model.functions else model
  opsets = {o.domain or "ai.onnx": o.version for o in model.opset_import}
  opset = opsets.get("ai.onnx", 0)
  if not model.graph.node:
    raise errors.UserError("it holds no graph of operators.")
  if opset < _MIN_OPSET:
    raise errors.UserError(
      f"it has opset {opset}, expected {_MIN_OPSET} or later."
    )
  graph = _graph(model.graph, opset, tensors)
  text = onnx.GraphProto.SerializeToString(model.graph, deterministic=True)
  digest = hashlib.sha256(b"%d:" % opset + text).hexdigest()
  return dataclasses.replace(graph, digest=digest)


def _cut(path: str) -> tuple[onnx.ModelProto, dict[str, Tensor]]:
  """Return a model without its weights, and these by name."""
  import onnx

  whole = _mapped(path)
  shell, graph, tensors = bytearray(), bytearray(), {}
  for field in protobuf.fields(whole):
    if field.number != _MODEL_GRAPH:
      shell += field.whole
      continue
    for part in protobuf.fields(field.value):
      if part.number != _GRAPH_INITIALIZER:
        graph += part.whole
      else:
        tensor = _tensor(path, part.value)
        tensors[tensor.proto.name] = tensor
  model = onnx.ModelProto.FromString(bytes(shell))
  model.graph.ParseFromString(bytes(graph))
  if model.graph.sparse_initializer:
    raise errors.UserError("it has sparse weights, which are not supported.")
  return model, tensors


def _mapped(path: str) -> memoryview:
  with open(path, "rb") as file:
    if not os.fstat(file.fileno()).st_size:
      raise errors.UserError("it is empty.")
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _tensor(path: str, message: memoryview) -> Tensor:
  import onnx

  raw, rest = None, bytearray()
  for field in protobuf.fields(message):
    if field.number == _TENSOR_RAW_DATA:
      raw = field.value
    else:
      rest += field.whole
  proto = onnx.TensorProto.FromString(bytes(rest))
  if proto.data_location != onnx.TensorProto.EXTERNAL:
    return Tensor(proto, raw)
  locations = [e.value for e in proto.external_data if e.key == "location"]
  return Tensor(proto, place=_weights_file(path, "".join(locations)))


def _weights_file(path: str, location: str) -> pathlib.Path:
  """Return the path of a file in the model's folder or below it."""
  folder = pathlib.Path(path).resolve().parent
  place = (folder / location).resolve()
  if not place.is_relative_to(folder) or place == folder:
    raise errors.UserError(
      f"its weights lie in {location!r}, outside the model's folder: such a file"
      " is not opened. Store them beside the model."
    )
  if not place.is_file():
    raise errors.UserError(
      f"its weights lie in {location!r}, which does not exist. Copy that file"
      " into the model's folder."
    )
  return place


def _graph(
  graph: onnx.GraphProto, opset: int, tensors: Mapping[str, Tensor]
) -> Graph:
  own = {t.name: Tensor(t) for t in graph.initializer}
  weights = {**tensors, **own}
  nodes = []
  for node in graph.node:
    if node.op_type == "Constant" and len(node.attribute) == 1:
      weights[node.output[0]] = _constant(node)
    else:
      nodes.append(_node(node, opset))
  return Graph(
    tuple(nodes),
    tuple(_input(i) for i in graph.input if i.name not in weights),
    tuple(o.name for o in graph.output),
    weights,
  )


def _constant(node: onnx.NodeProto) -> Tensor:
  from onnx import numpy_helper

  value = _attribute(node.attribute[0], 0)
  if isinstance(value, np.ndarray):
    return Tensor(node.attribute[0].t)
  whole = node.attribute[0].name in ("value_int", "value_ints")
  array = np.asarray(value, np.int64 if whole else np.float32)
  return Tensor(numpy_helper.from_array(array, node.output[0]))


def _node(node: onnx.NodeProto, opset: int) -> Node:
  standard = node.domain in ("", "ai.onnx")
  name = node.op_type if standard else f"{node.domain}.{node.op_type}"
  attributes = {a.name: _attribute(a, opset) for a in node.attribute}
  return Node(name, tuple(node.input), tuple(node.output), attributes, opset)


def _attribute(attribute: onnx.AttributeProto, opset: int) -> Any:
  import onnx
  from onnx import helper, numpy_helper

  if attribute.type == onnx.AttributeProto.GRAPH:
    return _graph(attribute.g, opset, {})
  if attribute.type == onnx.AttributeProto.TENSOR:
    return np.asarray(numpy_helper.to_array(attribute.t))
  value = helper.get_attribute_value(attribute)
  if isinstance(value, bytes):
    return value.decode("utf-8", "replace")
  return value if isinstance(value, (int, float)) else tuple(value)


def _input(value: onnx.ValueInfoProto) -> Input:
  kind = value.type.tensor_type
  sides = tuple(d.dim_value or None for d in kind.shape.dim)
  return Input(value.name, dtypes.dtype_of(kind.elem_type), sides)
