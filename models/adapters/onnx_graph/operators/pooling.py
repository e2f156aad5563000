"""Pooling over windows, and over the whole picture: `[B, C, ...]`."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from models.adapters.onnx_graph.operators.node import (
  Array,
  Node,
  Operator,
)
from models.adapters.onnx_graph.operators.windows import Windows


def _windows(node: Node, x: Array) -> Windows:
  return Windows.from_node(node, x.shape[2:], node.attributes["kernel_shape"])


def _max_pool(node: Node, x: Array) -> jax.Array:
  if len(node.outputs) > 1 and node.outputs[1]:
    raise node.refuse("its second output (indices) is unknown to JAX here.")
  floating = jnp.issubdtype(x.dtype, jnp.floating)
  least = -np.inf if floating else np.iinfo(x.dtype).min
  start = np.array(least, x.dtype)
  return _reduced(x, _windows(node, x), start, jax.lax.max)


def _average_pool(node: Node, x: Array) -> jax.Array:
  windows = _windows(node, x)
  total = _reduced(x, windows, np.zeros((), x.dtype), jax.lax.add)
  padded = bool(node.attributes.get("count_include_pad"))
  counts = [
    _counts(axis, side, windows, padded)
    for axis, side in enumerate(x.shape[2:])
  ]
  return total / functools.reduce(np.multiply.outer, counts).astype(x.dtype)


def _counts(axis: int, side: int, windows: Windows, padded: bool) -> np.ndarray:
  """Return the number of px that count in each window along an axis."""
  before, after = windows.pads[axis]
  spare = windows.spare[axis]
  inside = np.zeros(before + side + after + spare, int)
  inside[before : before + side] = 1
  if padded:
    inside[: before + side + after] = 1
  steps = windows.dilations[axis] * np.arange(windows.kernel[axis])
  room = len(inside) - steps[-1]
  starts = np.arange(0, room, windows.strides[axis])
  return inside[starts[:, None] + steps].sum(1)


def _lp_pool(node: Node, x: Array) -> jax.Array:
  power = node.attributes.get("p", 2)
  zero = np.zeros((), x.dtype)
  powers = abs(x) ** power
  total = _reduced(powers, _windows(node, x), zero, jax.lax.add)
  return total ** (1 / power)


def _reduced(
  x: Array, windows: Windows, start: np.ndarray, combine: Callable[..., Any]
) -> jax.Array:
  return jax.lax.reduce_window(
    x,
    start,
    combine,
    (1, 1, *windows.kernel),
    (1, 1, *windows.strides),
    ((0, 0), (0, 0), *windows.padding),
    window_dilation=(1, 1, *windows.dilations),
  )


def _axes(x: Array) -> tuple[int, ...]:
  return tuple(range(2, x.ndim))


def _global_average(node: Node, x: Array) -> jax.Array:
  del node
  return jnp.mean(x, _axes(x), keepdims=True)


def _global_max(node: Node, x: Array) -> jax.Array:
  del node
  return jnp.max(x, _axes(x), keepdims=True)


def _global_lp(node: Node, x: Array) -> jax.Array:
  power = node.attributes.get("p", 2)
  return jnp.sum(abs(x) ** power, _axes(x), keepdims=True) ** (1 / power)


OPERATORS = {
  "AveragePool": Operator(_average_pool),
  "GlobalAveragePool": Operator(_global_average),
  "GlobalLpPool": Operator(_global_lp),
  "GlobalMaxPool": Operator(_global_max),
  "LpPool": Operator(_lp_pool),
  "MaxPool": Operator(_max_pool),
}
