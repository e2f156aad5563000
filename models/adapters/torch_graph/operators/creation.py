"""Arrays from nothing, and conversions of dtype.

Dtypes are numpy's, as `export.py` reads them: whole numbers are int32, real ones
float32. What does not depend on pictures is numpy: known while tracing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Dtype = np.dtype | None


def full(
  shape: Sequence[int], value: Any, *, dtype: Dtype = None
) -> np.ndarray | jax.Array:
  """One value everywhere."""
  if isinstance(value, jax.Array):
    return jnp.full(tuple(shape), value, dtype)
  return np.full(tuple(shape), value, dtype or _natural(value))


def _natural(value: Any) -> Any:
  """The dtype of an array of a Python number."""
  if isinstance(value, bool):
    return np.bool_
  return np.int32 if isinstance(value, int) else np.float32


def zeros(shape: Sequence[int], *, dtype: Dtype = None) -> np.ndarray:
  """0 everywhere; also where torch leaves memory as it was."""
  return np.zeros(tuple(shape), dtype or np.float32)


def ones(shape: Sequence[int], *, dtype: Dtype = None) -> np.ndarray:
  """1 everywhere."""
  return np.ones(tuple(shape), dtype or np.float32)


def full_like(x: jax.Array, value: Any, *, dtype: Dtype = None) -> Any:
  """One value in the shape and dtype of another array."""
  return full(x.shape, value, dtype=dtype or np.dtype(x.dtype))


def zeros_like(x: jax.Array, *, dtype: Dtype = None) -> np.ndarray:
  """0 in the shape and dtype of another array."""
  return np.zeros(x.shape, dtype or x.dtype)


def ones_like(x: jax.Array, *, dtype: Dtype = None) -> np.ndarray:
  """1 in the shape and dtype of another array."""
  return np.ones(x.shape, dtype or x.dtype)


def new_full(
  x: jax.Array, shape: Sequence[int], value: Any, *, dtype: Dtype = None
) -> Any:
  """One value in the dtype of another array."""
  return full(shape, value, dtype=dtype or np.dtype(x.dtype))


def new_zeros(
  x: jax.Array, shape: Sequence[int], *, dtype: Dtype = None
) -> np.ndarray:
  """0 in the dtype of another array."""
  return np.zeros(tuple(shape), dtype or x.dtype)


def new_ones(
  x: jax.Array, shape: Sequence[int], *, dtype: Dtype = None
) -> np.ndarray:
  """1 in the dtype of another array."""
  return np.ones(tuple(shape), dtype or x.dtype)


def arange(end: float, *, dtype: Dtype = None) -> np.ndarray:
  """0, 1, ... below `end`."""
  return arange_from(0, end, dtype=dtype)


def arange_from(
  start: float, end: float, step: float = 1, *, dtype: Dtype = None
) -> np.ndarray:
  """start, start + step, ... below `end`."""
  whole = all(isinstance(v, int) for v in (start, end, step))
  kind = dtype or (np.int32 if whole else np.float32)
  return np.arange(start, end, step).astype(kind)


def linspace(
  start: float, end: float, steps: int, *, dtype: Dtype = None
) -> np.ndarray:
  """Values at equal steps, both ends among them."""
  return np.linspace(start, end, steps).astype(dtype or np.float32)


def eye(
  rows: int, columns: int | None = None, *, dtype: Dtype = None
) -> np.ndarray:
  """1 on the diagonal."""
  return np.eye(rows, columns, dtype=dtype or np.float32)


def scalar(value: Any, *, dtype: Dtype = None) -> Any:
  """A number as an array without axes."""
  return full((), value, dtype=dtype)


def to_copy(x: jax.Array, *, dtype: Dtype = None) -> jax.Array:
  """In another dtype; devices and memory layouts are torch's."""
  return x if dtype is None else _cast(x, dtype)


def to_dtype(x: jax.Array, dtype: Dtype, *args: Any) -> jax.Array:
  """As `to_copy`."""
  del args
  return to_copy(x, dtype=dtype)


def to_device(
  x: jax.Array, device: Any = None, dtype: Dtype = None, *args: Any
) -> jax.Array:
  """As `to_copy`."""
  del device, args
  return to_copy(x, dtype=dtype)


def type_as(x: jax.Array, other: jax.Array) -> jax.Array:
  """In the dtype of another array."""
  return _cast(x, other.dtype)


def _cast(x: jax.Array, dtype: Any) -> jax.Array:
  """Towards 0 where real numbers become whole ones, as in C."""
  return x.astype(dtype)


TABLE: dict[str, Callable[..., Any]] = {
  "aten._to_copy.default": to_copy,
  "aten.arange.default": arange,
  "aten.arange.start": arange_from,
  "aten.arange.start_step": arange_from,
  "aten.empty.memory_format": zeros,
  "aten.empty_like.default": zeros_like,
  "aten.eye.default": eye,
  "aten.eye.m": eye,
  "aten.full.default": full,
  "aten.full_like.default": full_like,
  "aten.linspace.default": linspace,
  "aten.new_empty.default": new_zeros,
  "aten.new_full.default": new_full,
  "aten.new_ones.default": new_ones,
  "aten.new_zeros.default": new_zeros,
  "aten.ones.default": ones,
  "aten.ones_like.default": ones_like,
  "aten.scalar_tensor.default": scalar,
  "aten.to.device": to_device,
  "aten.to.dtype": to_dtype,
  "aten.to.dtype_layout": to_copy,
  "aten.type_as.default": type_as,
  "aten.zeros.default": zeros,
  "aten.zeros_like.default": zeros_like,
}
