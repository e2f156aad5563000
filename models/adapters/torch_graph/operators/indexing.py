"""Values picked and put by place; places are whole numbers or bools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_END = (1 << 63) - 1  # what torch writes for "to the end"


def sliced(
  x: jax.Array,
  axis: int = 0,
  start: int | None = None,
  end: int | None = None,
  step: int = 1,
) -> jax.Array:
  """Part of an axis; bounds are those of Python's slices."""
  place = [slice(None)] * x.ndim
  place[axis] = _slice(start, end, step)
  return x[tuple(place)]


def _slice(start: int | None, end: int | None, step: int) -> slice:
  return slice(start, None if end == _END else end, step)


def select(x: jax.Array, axis: int, index: int) -> jax.Array:
  """What lies at one place of an axis, without the axis."""
  return lax.index_in_dim(x, index, axis, keepdims=False)


def slice_scatter(
  x: jax.Array,
  source: jax.Array,
  axis: int = 0,
  start: int | None = None,
  end: int | None = None,
  step: int = 1,
) -> jax.Array:
  """Another array in place of part of an axis."""
  place = [slice(None)] * x.ndim
  place[axis] = _slice(start, end, step)
  return jnp.asarray(x).at[tuple(place)].set(source)


def select_scatter(
  x: jax.Array, source: jax.Array, axis: int, index: int
) -> jax.Array:
  """Another array at one place of an axis."""
  place: list[Any] = [slice(None)] * x.ndim
  place[axis] = index
  return jnp.asarray(x).at[tuple(place)].set(source)


def copied(x: jax.Array, source: jax.Array, non_blocking: bool = False) -> Any:
  """Another array's values in the shape and dtype of x."""
  del non_blocking
  return jnp.broadcast_to(source, x.shape).astype(x.dtype)


def index(x: jax.Array, places: Sequence[jax.Array | None]) -> jax.Array:
  """`x[places]`; None is a whole axis. Masks must not depend on pictures."""
  return jnp.asarray(x)[_places(places)]


def index_put(
  x: jax.Array,
  places: Sequence[jax.Array | None],
  values: jax.Array,
  accumulate: bool = False,
) -> jax.Array:
  """Values put at, or added to, `x[places]`."""
  at = jnp.asarray(x).at[_places(places)]
  values = jnp.asarray(values, x.dtype)
  return at.add(values) if accumulate else at.set(values)


def _places(places: Sequence[jax.Array | None]) -> tuple[Any, ...]:
  return tuple(slice(None) if p is None else p for p in places)


def index_select(x: jax.Array, axis: int, places: jax.Array) -> jax.Array:
  """The named places of an axis."""
  return jnp.take(x, places, axis)


def gather(
  x: jax.Array, axis: int, places: jax.Array, *, sparse_grad: bool = False
) -> jax.Array:
  """A value of `axis` for each of `places`, which has as many axes as x."""
  del sparse_grad
  cut = tuple(
    slice(None) if a == axis % x.ndim else slice(n)
    for a, n in enumerate(places.shape)
  )
  return jnp.take_along_axis(x[cut], places, axis)


def scatter(
  x: jax.Array, axis: int, places: jax.Array, values: Any
) -> jax.Array:
  """Values put where `places` says along an axis."""
  grid = list(np.indices(places.shape))
  grid[axis] = places
  if isinstance(values, (jax.Array, np.ndarray)) and values.ndim:
    values = values[tuple(slice(n) for n in places.shape)]
  return jnp.asarray(x).at[tuple(grid)].set(values)


def embedding(weight: jax.Array, places: jax.Array, *args: Any) -> jax.Array:
  """Rows of a table; what else torch is told is of training."""
  del args
  return weight[places]


def topk(
  x: jax.Array, count: int, axis: int = -1, largest: bool = True, *args: bool
) -> tuple[jax.Array, jax.Array]:
  """The largest values along an axis, and where they were."""
  del args  # sorted, which they always are here
  moved = jnp.moveaxis(x, axis, -1)
  values, places = lax.top_k(moved if largest else -moved, count)
  values = values if largest else -values
  return jnp.moveaxis(values, -1, axis), jnp.moveaxis(places, -1, axis)


def ordered(
  x: jax.Array, axis: int = -1, descending: bool = False
) -> tuple[jax.Array, jax.Array]:
  """Sorted along an axis, and where each was; equal ones keep their order."""
  places = jnp.argsort(x, axis, stable=True, descending=descending)
  return jnp.take_along_axis(x, places, axis), places


def tril(x: jax.Array, diagonal: int = 0) -> jax.Array:
  """What lies on and below a diagonal; 0 elsewhere."""
  return jnp.tril(x, diagonal)


def triu(x: jax.Array, diagonal: int = 0) -> jax.Array:
  """What lies on and above a diagonal; 0 elsewhere."""
  return jnp.triu(x, diagonal)


def diagonal(
  x: jax.Array, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> jax.Array:
  """A diagonal of two axes, as the last one."""
  return jnp.diagonal(x, offset, axis1, axis2)


TABLE: dict[str, Callable[..., Any]] = {
  "aten.copy.default": copied,
  "aten.diagonal.default": diagonal,
  "aten.embedding.default": embedding,
  "aten.gather.default": gather,
  "aten.index.Tensor": index,
  "aten._unsafe_index.Tensor": index,
  "aten.index_put.default": index_put,
  "aten._unsafe_index_put.default": index_put,
  "aten.index_select.default": index_select,
  "aten.scatter.src": scatter,
  "aten.scatter.value": scatter,
  "aten.select.int": select,
  "aten.select_scatter.default": select_scatter,
  "aten.slice.Tensor": sliced,
  "aten.slice_scatter.default": slice_scatter,
  "aten.sort.default": ordered,
  "aten.topk.default": topk,
  "aten.tril.default": tril,
  "aten.triu.default": triu,
}
