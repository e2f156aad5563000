"""Reductions along axes: sums, means, extremes and their indices."""

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
  numpy_of,
)

Reduce = Callable[[Any, Array, tuple[int, ...] | None, bool], Array]

_REDUCTIONS: dict[str, Reduce] = {
  "ReduceL1": lambda xp, x, axes, keep: xp.sum(abs(x), axes, keepdims=keep),
  "ReduceL2": lambda xp, x, axes, keep: xp.sqrt(
    xp.sum(x * x, axes, keepdims=keep)
  ),
  "ReduceLogSum": lambda xp, x, axes, keep: xp.log(
    xp.sum(x, axes, keepdims=keep)
  ),
  "ReduceLogSumExp": lambda xp, x, axes, keep: jax.nn.logsumexp(
    x, axes, keepdims=keep
  ),
  "ReduceMax": lambda xp, x, axes, keep: xp.max(x, axes, keepdims=keep),
  "ReduceMean": lambda xp, x, axes, keep: xp.mean(x, axes, keepdims=keep),
  "ReduceMin": lambda xp, x, axes, keep: xp.min(x, axes, keepdims=keep),
  "ReduceProd": lambda xp, x, axes, keep: xp.prod(x, axes, keepdims=keep),
  "ReduceSum": lambda xp, x, axes, keep: xp.sum(x, axes, keepdims=keep),
  "ReduceSumSquare": lambda xp, x, axes, keep: xp.sum(
    x * x, axes, keepdims=keep
  ),
}


def _reduce(
  name: str, node: Node, x: Array, axes: Array | None = None
) -> Array:
  along = node.integers("axes", axes, ()) or None
  if along is None and node.attributes.get("noop_with_empty_axes"):
    return x
  keep = bool(node.attributes.get("keepdims", 1))
  return _REDUCTIONS[name](numpy_of(x), x, along, keep).astype(x.dtype)


def _arg(best: str, node: Node, x: Array) -> Array:
  xp = numpy_of(x)
  axis = node.attributes.get("axis", 0)
  keep = bool(node.attributes.get("keepdims", 1))
  if not node.attributes.get("select_last_index"):
    place = vars(xp)[best](x, axis, keepdims=keep)
  else:
    backwards = vars(xp)[best](xp.flip(x, axis), axis, keepdims=keep)
    place = x.shape[axis] - 1 - backwards
  return place.astype(np.int64 if xp is np else jnp.int32)


def _cumulative_sum(node: Node, x: Array, axis: Array) -> Array:
  (along,) = node.integers("axis", axis)
  xp = numpy_of(x)
  x = xp.flip(x, along) if node.attributes.get("reverse") else x
  total = xp.cumsum(x, along, dtype=x.dtype)
  if node.attributes.get("exclusive"):
    total = total - x
  return xp.flip(total, along) if node.attributes.get("reverse") else total


def _top(node: Node, x: Array, count: Array | None = None) -> Any:
  """Return the largest or smallest along an axis; the first of equals first."""
  (k,) = (
    node.integers("k", count) if count is not None else (node.attributes["k"],)
  )
  axis = node.attributes.get("axis", -1)
  rows = jnp.moveaxis(x, axis, -1)
  if node.attributes.get("largest", 1):
    values, places = jax.lax.top_k(rows, k)
  else:
    places = jnp.argsort(rows, stable=True)[..., :k]
    values = jnp.take_along_axis(rows, places, -1)
  return jnp.moveaxis(values, -1, axis), jnp.moveaxis(places, -1, axis)


OPERATORS = {
  **{
    name: Operator(functools.partial(_reduce, name), static=(1,))
    for name in _REDUCTIONS
  },
  "ArgMax": Operator(functools.partial(_arg, "argmax")),
  "ArgMin": Operator(functools.partial(_arg, "argmin")),
  "CumSum": Operator(_cumulative_sum, static=(1,)),
  "TopK": Operator(_top, static=(1,)),
}
