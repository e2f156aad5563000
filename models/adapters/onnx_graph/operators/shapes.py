"""Operators on shapes: reading, changing, joining and cutting them."""

import numpy as np

from models.adapters.onnx_graph.operators import dtypes
from models.adapters.onnx_graph.operators.node import (
  Array,
  Node,
  Operator,
  numpy_of,
)


def _shape(node: Node, x: Array) -> np.ndarray:
  start = node.attributes.get("start", 0)
  return np.asarray(x.shape[start : node.attributes.get("end")], np.int64)


def _size(node: Node, x: Array) -> np.ndarray:
  del node
  return np.asarray(x.size, np.int64)


def _reshape(node: Node, x: Array, shape: Array | None = None) -> Array:
  sides = list(node.integers("shape", shape))
  if not node.attributes.get("allowzero"):  # 0: as it was
    sides = [x.shape[i] if n == 0 else n for i, n in enumerate(sides)]
  return x.reshape(sides)


def _flatten(node: Node, x: Array) -> Array:
  axis = node.attributes.get("axis", 1)
  axis = axis + x.ndim if axis < 0 else axis
  return x.reshape(int(np.prod(x.shape[:axis])), -1)


def _squeeze(node: Node, x: Array, axes: Array | None = None) -> Array:
  along = node.integers("axes", axes, tuple(range(x.ndim)))
  # Torch exports it of longer sides too, which its own squeeze leaves as they are.
  return x.squeeze(tuple(axis for axis in along if x.shape[axis] == 1))


def _unsqueeze(node: Node, x: Array, axes: Array | None = None) -> Array:
  return numpy_of(x).expand_dims(x, node.integers("axes", axes))


def _transpose(node: Node, x: Array) -> Array:
  return x.transpose(node.attributes.get("perm"))


def _concat(node: Node, *parts: Array) -> Array:
  return numpy_of(*parts).concatenate(parts, node.attributes["axis"])


def _lengths(node: Node, x: Array, split: Array | None) -> tuple[int, ...]:
  """Return the length of each part of a `Split`."""
  lengths: tuple[int, ...] | None = node.integers("split", split)
  if lengths is not None:
    return lengths
  count = node.attributes.get("num_outputs", len(node.outputs))
  whole = x.shape[node.attributes.get("axis", 0)]
  length = -(-whole // count)  # the last may be shorter
  return (*(length,) * (count - 1), whole - length * (count - 1))


def _split(node: Node, x: Array, split: Array | None = None) -> tuple:
  ends = np.cumsum(_lengths(node, x, split))[:-1]
  axis = node.attributes.get("axis", 0)
  return tuple(numpy_of(x).split(x, ends.tolist(), axis))


def _split_to_sequence(
  node: Node, x: Array, split: Array | None = None
) -> list[Array]:
  axis = node.attributes.get("axis", 0)
  length = 1 if split is None else np.asarray(split)
  if np.ndim(length):
    ends = np.cumsum(length)[:-1].tolist()
  else:
    ends = list(range(int(length), x.shape[axis], int(length)))
  parts: list[Array] = numpy_of(x).split(x, ends, axis)
  if split is None and not node.attributes.get("keepdims", 1):
    return [part.squeeze(axis) for part in parts]
  return parts


def _sequence_at(node: Node, parts: list[Array], place: Array) -> Array:
  del node
  return parts[int(place)]


def _sequence(node: Node, *parts: Array) -> list[Array]:
  del node
  return list(parts)


def _concat_from_sequence(node: Node, parts: list[Array]) -> Array:
  join = numpy_of(*parts)
  if node.attributes.get("new_axis"):
    return join.stack(parts, node.attributes["axis"])
  return join.concatenate(parts, node.attributes["axis"])


def _slice(node: Node, x: Array, *inputs: Array | None) -> Array:
  starts, ends, axes, steps = (*inputs, None, None, None, None)[:4]
  first = node.integers("starts", starts)
  along = node.integers("axes", axes) or tuple(range(len(first)))
  cut = [slice(None)] * x.ndim
  for axis, start, end, step in zip(
    along,
    first,
    node.integers("ends", ends),
    node.integers("steps", steps) or (1,) * len(first),
    strict=True,
  ):
    cut[axis] = _bounds(start, end, step, x.shape[axis])
  return x[tuple(cut)]


def _bounds(start: int, end: int, step: int, side: int) -> slice:
  """Convert ONNX's bounds to Python's, which cannot end before the first element."""
  start, end, step = slice(start, end, step).indices(side)
  return slice(start, None if end < 0 else end, step)


def _expand(node: Node, x: Array, shape: Array) -> Array:
  sides = np.broadcast_shapes(x.shape, node.integers("shape", shape))
  return numpy_of(x).broadcast_to(x, sides)


def _tile(node: Node, x: Array, repeats: Array) -> Array:
  return numpy_of(x).tile(x, node.integers("repeats", repeats))


_PAD_MODES = ("constant", "reflect", "edge", "wrap")


def _pad(
  node: Node,
  x: Array,
  pads: Array | None = None,
  value: Array | None = None,
  axes: Array | None = None,
) -> Array:
  mode = node.attributes.get("mode", "constant")
  if mode not in _PAD_MODES:
    raise node.refuse(f"mode {mode!r} is unknown to JAX here.")
  along = node.integers("axes", axes) or tuple(range(x.ndim))
  amounts = node.integers("pads", pads)
  widths = [(0, 0)] * x.ndim
  for i, axis in enumerate(along):
    widths[axis] = (amounts[i], amounts[i + len(along)])
  cut = tuple(
    slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, widths)
  )
  added = [(max(a, 0), max(b, 0)) for a, b in widths]
  pad = numpy_of(x, value).pad
  if mode != "constant":
    return pad(x[cut], added, mode)
  fill = node.attributes.get("value", 0) if value is None else value.reshape(())
  return pad(x[cut], added, mode, constant_values=fill)


def _constant_of_shape(node: Node, shape: Array) -> np.ndarray:
  value = node.attributes.get("value", np.zeros(1, np.float32))
  return np.full(tuple(int(n) for n in shape), value.item(), value.dtype)


def _range(node: Node, start: Array, limit: Array, delta: Array) -> np.ndarray:
  del node
  bounds = (start.item(), limit.item(), delta.item())
  return np.arange(*bounds).astype(start.dtype)


def _eye_like(node: Node, x: Array) -> np.ndarray:
  number = node.attributes.get("dtype")
  dtype = x.dtype if number is None else dtypes.dtype_of(number)
  rows, columns = x.shape
  eye = np.eye(rows, columns, node.attributes.get("k", 0))
  return eye.astype(dtype)


def _triangle(node: Node, x: Array, diagonal: Array | None = None) -> Array:
  k = 0 if diagonal is None else int(diagonal)
  xp = numpy_of(x)
  return (xp.triu if node.attributes.get("upper", 1) else xp.tril)(x, k)


def _depth_to_space(node: Node, x: Array) -> Array:
  rows, depth, high, wide = x.shape
  n = node.attributes["blocksize"]
  if node.attributes.get("mode", "DCR") == "DCR":
    parts = x.reshape(rows, n, n, depth // n**2, high, wide)
    order = (0, 3, 4, 1, 5, 2)
  else:
    parts = x.reshape(rows, depth // n**2, n, n, high, wide)
    order = (0, 1, 4, 2, 5, 3)
  return parts.transpose(order).reshape(rows, depth // n**2, high * n, wide * n)


def _space_to_depth(node: Node, x: Array) -> Array:
  rows, depth, high, wide = x.shape
  n = node.attributes["blocksize"]
  parts = x.reshape(rows, depth, high // n, n, wide // n, n)
  return parts.transpose(0, 3, 5, 1, 2, 4).reshape(
    rows, depth * n**2, high // n, wide // n
  )


OPERATORS = {
  "Concat": Operator(_concat),
  "ConcatFromSequence": Operator(_concat_from_sequence),
  "ConstantOfShape": Operator(_constant_of_shape, static=(0,)),
  "DepthToSpace": Operator(_depth_to_space),
  "Expand": Operator(_expand, static=(1,)),
  "EyeLike": Operator(_eye_like, unread=(0,)),
  "Flatten": Operator(_flatten),
  "Pad": Operator(_pad, static=(1, 3), folded=(2,)),
  "Range": Operator(_range, static=(0, 1, 2)),
  "Reshape": Operator(_reshape, static=(1,)),
  "SequenceAt": Operator(_sequence_at, static=(1,)),
  "SequenceConstruct": Operator(_sequence),
  "Shape": Operator(_shape, unread=(0,)),
  "Size": Operator(_size, unread=(0,)),
  "Slice": Operator(_slice, static=(1, 2, 3, 4)),
  "SpaceToDepth": Operator(_space_to_depth),
  "Split": Operator(_split, static=(1,)),
  "SplitToSequence": Operator(_split_to_sequence, static=(1,)),
  "Squeeze": Operator(_squeeze, static=(1,)),
  "Tile": Operator(_tile, static=(1,)),
  "Transpose": Operator(_transpose),
  "Trilu": Operator(_triangle, static=(1,)),
  "Unsqueeze": Operator(_unsqueeze, static=(1,)),
}
