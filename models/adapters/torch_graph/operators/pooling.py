"""Pooling of torch's `[B, C, ...]` arrays: windows, and adaptive bins.

A window may reach over the end of an axis (`ceil_mode`); it never begins there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from robust_tfds.models.adapters.torch_graph.operators import convolution

Axes = int | Sequence[int]


def max_pool(
  x: jax.Array,
  window: Axes,
  stride: Axes = (),
  padding: Axes = 0,
  dilation: Axes = 1,
  ceil_mode: bool = False,
  *,
  axes: int,
) -> jax.Array:
  """The largest value of each window; padding never wins.

  Args:
    x: `[..., D, H, W]`, whose last `axes` are pooled.
    window: its size per axis.
    stride: the window's size by default.
    padding: on both sides.
    dilation: of the window.
    ceil_mode: whether a last window may be cut off by the end.
    axes: how many axes are pooled.
  """
  sizes = convolution.each_axis(window, axes)
  steps = convolution.each_axis(stride, axes) if _is_set(stride) else sizes
  pads = convolution.each_axis(padding, axes)
  gaps = convolution.each_axis(dilation, axes)
  counts = [
    _windows(n, k, s, p, d, ceil_mode)
    for n, k, s, p, d in zip(
      x.shape[-axes:], sizes, steps, pads, gaps, strict=True
    )
  ]
  spans = [
    (p, (c - 1) * s + d * (k - 1) + 1 - n - p)
    for c, n, k, s, p, d in zip(
      counts, x.shape[-axes:], sizes, steps, pads, gaps, strict=True
    )
  ]
  lead = x.ndim - axes
  least = -np.inf if jnp.issubdtype(x.dtype, jnp.floating) else None
  return lax.reduce_window(
    x,
    np.asarray(least if least else jnp.iinfo(x.dtype).min, x.dtype),
    lax.max,
    (1,) * lead + sizes,
    (1,) * lead + steps,
    ((0, 0),) * lead + tuple(spans),
    window_dilation=(1,) * lead + gaps,
  )


def avg_pool(
  x: jax.Array,
  window: Axes,
  stride: Axes = (),
  padding: Axes = 0,
  ceil_mode: bool = False,
  count_include_pad: bool = True,
  divisor_override: int | None = None,
  *,
  axes: int,
) -> jax.Array:
  """The mean of each window.

  Args:
    x: as of `max_pool`; so are window, stride, padding, ceil_mode and axes.
    window: see `x`.
    stride: see `x`.
    padding: see `x`.
    ceil_mode: see `x`.
    count_include_pad: whether zeros of the padding count; what a last window
      reaches beyond the padding never does.
    divisor_override: divides instead of the count.
    axes: see `x`.
  """
  sizes = convolution.each_axis(window, axes)
  steps = convolution.each_axis(stride, axes) if _is_set(stride) else sizes
  pads = convolution.each_axis(padding, axes)
  spans, divisor = [], np.ones(())
  for n, k, s, p in zip(x.shape[-axes:], sizes, steps, pads, strict=True):
    count = _windows(n, k, s, p, 1, ceil_mode)
    spans.append((p, (count - 1) * s + k - n - p))
    first = np.arange(count) * s - p
    last = np.minimum(first + k, n + p)
    if not count_include_pad:
      first, last = np.maximum(first, 0), np.minimum(last, n)
    divisor = divisor[..., None] * (last - first)
  lead = x.ndim - axes
  total = lax.reduce_window(
    x.astype(jnp.float32),
    np.float32(0),
    lax.add,
    (1,) * lead + sizes,
    (1,) * lead + steps,
    ((0, 0),) * lead + tuple(spans),
  )
  by = divisor if divisor_override is None else divisor_override
  return (total / jnp.asarray(by, jnp.float32)).astype(x.dtype)


def adaptive_avg_pool(x: jax.Array, size: Axes, *, axes: int) -> jax.Array:
  """The mean of bins that cover each of the last axes."""
  wide = x.astype(jnp.float32)
  return _adaptive(wide, size, axes, jnp.mean).astype(x.dtype)


def adaptive_max_pool(
  x: jax.Array, size: Axes, *, axes: int
) -> tuple[jax.Array]:
  """The largest value of bins that cover each of the last axes."""
  return (_adaptive(x, size, axes, jnp.max),)


def _adaptive(
  x: jax.Array, size: Axes, axes: int, reduce: Callable[..., jax.Array]
) -> jax.Array:
  sizes = convolution.each_axis(size, axes)
  for axis, bins in enumerate(sizes, start=x.ndim - axes):
    length = x.shape[axis]
    parts = [
      lax.slice_in_dim(x, begin, end, axis=axis)
      for begin, end in _bins(length, bins)
    ]
    if length % bins:
      x = jnp.concatenate([reduce(p, axis, keepdims=True) for p in parts], axis)
    else:
      shape = (*x.shape[:axis], bins, length // bins, *x.shape[axis + 1 :])
      x = reduce(x.reshape(shape), axis + 1)
  return x


def _bins(length: int, bins: int) -> list[tuple[int, int]]:
  """Where each bin begins and ends; neighbours may share a value."""
  return [
    (i * length // bins, -(-(i + 1) * length // bins)) for i in range(bins)
  ]


def _windows(
  length: int, size: int, step: int, pad: int, gap: int, ceil_mode: bool
) -> int:
  """How many windows there are along an axis."""
  room = length + 2 * pad - gap * (size - 1) - 1
  count = (math.ceil(room / step) if ceil_mode else room // step) + 1
  if ceil_mode and (count - 1) * step >= length + pad:
    count -= 1  # it would begin in the padding at the end
  return count


def _is_set(stride: Axes) -> bool:
  return isinstance(stride, int) or bool(len(stride))


def _first(pool: Callable[..., jax.Array]) -> Callable[..., tuple[jax.Array]]:
  """Of a pooling that answers (values, indices) in torch: the values."""

  def values(*args: object, **options: object) -> tuple[jax.Array]:
    return (pool(*args, **options),)

  return values


def _of_axes(pool: Callable[..., object], axes: int) -> Callable[..., object]:
  def over_axes(*args: object, **options: object) -> object:
    return pool(*args, **options, axes=axes)

  return over_axes


TABLE = {
  name.format(axes): _of_axes(pool, axes)
  for axes in (1, 2, 3)
  for name, pool in (
    ("aten.max_pool{}d.default", max_pool),
    ("aten.max_pool{}d_with_indices.default", _first(max_pool)),
    ("aten.avg_pool{}d.default", avg_pool),
    ("aten.adaptive_avg_pool{}d.default", adaptive_avg_pool),
    ("aten._adaptive_avg_pool{}d.default", adaptive_avg_pool),
    ("aten.adaptive_max_pool{}d.default", adaptive_max_pool),
  )
}
