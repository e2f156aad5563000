"""Sums, means, extremes and softmax over axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Axes = int | Sequence[int] | None
Dtype = np.dtype | None


def _over(axes: Axes) -> int | tuple[int, ...] | None:
  """As JAX names axes; torch's empty list is all of them."""
  if axes is None or isinstance(axes, int):
    return axes
  return tuple(axes) or None


def mean(
  x: jax.Array,
  axes: Axes = None,
  keepdims: bool = False,
  *,
  dtype: Dtype = None,
) -> jax.Array:
  """The mean, computed in float32."""
  wide = x.astype(jnp.float32).mean(_over(axes), keepdims=keepdims)
  return wide.astype(dtype or x.dtype)


def mean_all(x: jax.Array, *, dtype: Dtype = None) -> jax.Array:
  """The mean of all values."""
  return mean(x, dtype=dtype)


def total(
  x: jax.Array,
  axes: Axes = None,
  keepdims: bool = False,
  *,
  dtype: Dtype = None,
) -> jax.Array:
  """The sum."""
  return jnp.sum(x, _over(axes), dtype=dtype, keepdims=keepdims)


def product(
  x: jax.Array,
  axis: int | None = None,
  keepdims: bool = False,
  *,
  dtype: Dtype = None,
) -> jax.Array:
  """The product."""
  return jnp.prod(x, axis, dtype=dtype, keepdims=keepdims)


def amax(x: jax.Array, axes: Axes = (), keepdims: bool = False) -> jax.Array:
  """The largest."""
  return jnp.max(x, _over(axes), keepdims=keepdims)


def amin(x: jax.Array, axes: Axes = (), keepdims: bool = False) -> jax.Array:
  """The smallest."""
  return jnp.min(x, _over(axes), keepdims=keepdims)


def max_along(
  x: jax.Array, axis: int, keepdims: bool = False
) -> tuple[jax.Array, jax.Array]:
  """The largest along an axis, and where it is."""
  return (
    jnp.max(x, axis, keepdims=keepdims),
    jnp.argmax(x, axis, keepdims=keepdims),
  )


def min_along(
  x: jax.Array, axis: int, keepdims: bool = False
) -> tuple[jax.Array, jax.Array]:
  """The smallest along an axis, and where it is."""
  return (
    jnp.min(x, axis, keepdims=keepdims),
    jnp.argmin(x, axis, keepdims=keepdims),
  )


def argmax(
  x: jax.Array, axis: int | None = None, keepdims: bool = False
) -> jax.Array:
  """Where the largest is."""
  return jnp.argmax(x, axis, keepdims=keepdims)


def argmin(
  x: jax.Array, axis: int | None = None, keepdims: bool = False
) -> jax.Array:
  """Where the smallest is."""
  return jnp.argmin(x, axis, keepdims=keepdims)


def variance(
  x: jax.Array,
  axes: Axes = None,
  *,
  correction: float | None = None,
  keepdim: bool = False,
) -> jax.Array:
  """The variance; `correction` is subtracted from the count, 1 by default."""
  less = 1 if correction is None else correction
  wide = x.astype(jnp.float32)
  spread = jnp.var(wide, _over(axes), correction=less, keepdims=keepdim)
  return spread.astype(x.dtype)


def deviation(
  x: jax.Array,
  axes: Axes = None,
  *,
  correction: float | None = None,
  keepdim: bool = False,
) -> jax.Array:
  """The root of `variance`."""
  return jnp.sqrt(variance(x, axes, correction=correction, keepdim=keepdim))


def variance_and_mean(
  x: jax.Array,
  axes: Axes = None,
  *,
  correction: float | None = None,
  keepdim: bool = False,
) -> tuple[jax.Array, jax.Array]:
  """`variance` and `mean`."""
  spread = variance(x, axes, correction=correction, keepdim=keepdim)
  return spread, mean(x, axes, keepdim)


def any_of(
  x: jax.Array, axes: Axes = None, keepdims: bool = False
) -> jax.Array:
  """Whether one is not 0."""
  return jnp.any(x, _over(axes), keepdims=keepdims)


def all_of(
  x: jax.Array, axes: Axes = None, keepdims: bool = False
) -> jax.Array:
  """Whether none is 0."""
  return jnp.all(x, _over(axes), keepdims=keepdims)


def softmax(x: jax.Array, axis: int, half_to_float: bool = False) -> jax.Array:
  """exp(x) over its sum, computed in float32."""
  del half_to_float
  return jax.nn.softmax(x.astype(jnp.float32), axis).astype(x.dtype)


def log_softmax(
  x: jax.Array, axis: int, half_to_float: bool = False
) -> jax.Array:
  """The logarithm of `softmax`."""
  del half_to_float
  return jax.nn.log_softmax(x.astype(jnp.float32), axis).astype(x.dtype)


def softmax_of(x: jax.Array, axis: int, dtype: Dtype = None) -> jax.Array:
  """`softmax`, in a dtype."""
  return softmax(x if dtype is None else x.astype(dtype), axis)


def log_softmax_of(x: jax.Array, axis: int, dtype: Dtype = None) -> jax.Array:
  """`log_softmax`, in a dtype."""
  return log_softmax(x if dtype is None else x.astype(dtype), axis)


def safe_softmax(x: jax.Array, axis: int, dtype: Dtype = None) -> jax.Array:
  """`softmax`; 0 where all values are -inf."""
  empty = (x == -jnp.inf).all(axis, keepdims=True)
  return jnp.where(empty, 0, softmax_of(x, axis, dtype))


def logsumexp(x: jax.Array, axes: Axes, keepdims: bool = False) -> jax.Array:
  """log(sum(exp(x)))."""
  return jax.nn.logsumexp(x, _over(axes), keepdims=keepdims)


def cumsum(x: jax.Array, axis: int, *, dtype: Dtype = None) -> jax.Array:
  """The sum of what lies up to each place."""
  return jnp.cumsum(x, axis, dtype=dtype)


TABLE: dict[str, Callable[..., Any]] = {
  "aten._log_softmax.default": log_softmax,
  "aten._safe_softmax.default": safe_softmax,
  "aten._softmax.default": softmax,
  "aten.all.default": all_of,
  "aten.all.dim": all_of,
  "aten.all.dims": all_of,
  "aten.amax.default": amax,
  "aten.amin.default": amin,
  "aten.any.default": any_of,
  "aten.any.dim": any_of,
  "aten.any.dims": any_of,
  "aten.argmax.default": argmax,
  "aten.argmin.default": argmin,
  "aten.cumsum.default": cumsum,
  "aten.log_softmax.int": log_softmax_of,
  "aten.logsumexp.default": logsumexp,
  "aten.max.default": jnp.max,
  "aten.max.dim": max_along,
  "aten.mean.default": mean_all,
  "aten.mean.dim": mean,
  "aten.min.default": jnp.min,
  "aten.min.dim": min_along,
  "aten.prod.default": lambda x, *, dtype=None: product(x, dtype=dtype),
  "aten.prod.dim_int": product,
  "aten.softmax.int": softmax_of,
  "aten.std.correction": deviation,
  "aten.sum.default": lambda x, *, dtype=None: total(x, dtype=dtype),
  "aten.sum.dim_IntList": total,
  "aten.var.correction": variance,
  "aten.var_mean.correction": variance_and_mean,
}
