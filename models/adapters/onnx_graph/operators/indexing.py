"""Gathering and scattering; negative indices count from the end."""

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


def _from_start(places: Array, side: int) -> Array:
  return numpy_of(places).where(places < 0, places + side, places)


def _gather(node: Node, x: Array, places: Array) -> Array:
  axis = node.attributes.get("axis", 0)
  xp = numpy_of(x, places)
  return xp.take(x, _from_start(places, x.shape[axis]), axis)


def _gather_elements(node: Node, x: Array, places: Array) -> Array:
  return numpy_of(x, places).asarray(x)[_along(node, x, places)]


def _along(node: Node, x: Array, places: Array) -> tuple[Array, ...]:
  """Return places along one axis as an index; other axes may be shorter."""
  axis = node.attributes.get("axis", 0) % x.ndim
  index: list[Array] = list(np.indices(places.shape, sparse=True))
  index[axis] = _from_start(places, x.shape[axis])
  return tuple(index)


def _gather_many(node: Node, x: Array, places: Array) -> jax.Array:
  """Compute GatherND: the last axis of `places` holds an index into x."""

  def pick(x: Array, places: Array) -> Array:
    return x[tuple(jnp.moveaxis(places, -1, 0))]

  gather: Any = pick
  for _ in range(node.attributes.get("batch_dims", 0)):
    gather = jax.vmap(gather)
  picked: jax.Array = gather(jnp.asarray(x), jnp.asarray(places))
  return picked


def _put(node: Node, x: Array, index: Any, values: Array) -> jax.Array:
  places = jnp.asarray(x).at[index]
  reductions: dict[str, Any] = {
    "none": places.set,
    "add": places.add,
    "mul": places.multiply,
    "min": places.min,
    "max": places.max,
  }
  updated: jax.Array = reductions[node.attributes.get("reduction", "none")](
    values
  )
  return updated


def _scatter_elements(
  node: Node, x: Array, places: Array, values: Array
) -> jax.Array:
  return _put(node, x, _along(node, x, places), values)


def _scatter_many(
  node: Node, x: Array, places: Array, values: Array
) -> jax.Array:
  """Compute ScatterND: the last axis of `places` holds an index into x."""
  return _put(node, x, tuple(jnp.moveaxis(places, -1, 0)), values)


def _one_hot(node: Node, places: Array, depth: Array, values: Array) -> Any:
  """Compute OneHot; `values` holds (off, on)."""
  (count,) = node.integers("depth", depth)
  axis = node.attributes.get("axis", -1)
  whole = _from_start(places, count).astype(np.int32)
  on = jax.nn.one_hot(whole, count, dtype=bool, axis=axis)
  return jnp.where(on, values[1], values[0])


def _non_zero(node: Node, x: Array) -> np.ndarray:
  del node
  return np.asarray(np.nonzero(np.atleast_1d(x)), np.int64)


def _compress(node: Node, x: Array, keep: Array) -> Array:
  places = np.flatnonzero(keep)
  axis = node.attributes.get("axis")
  xp = numpy_of(x)
  return xp.take(x.ravel() if axis is None else x, places, axis or 0)


OPERATORS = {
  "Compress": Operator(_compress, static=(1,)),
  "Gather": Operator(_gather),
  "GatherElements": Operator(_gather_elements),
  "GatherND": Operator(_gather_many),
  "NonZero": Operator(_non_zero, static=(0,)),
  "OneHot": Operator(_one_hot, static=(1,), folded=(2,)),
  "ScatterElements": Operator(_scatter_elements),
  "ScatterND": Operator(_scatter_many),
}
