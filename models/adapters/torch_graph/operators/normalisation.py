"""Norms over channels, layers and groups; statistics are float32."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

Gain = jax.Array | None


def batch_norm(
  x: jax.Array,
  weight: Gain,
  bias: Gain,
  mean: jax.Array,
  variance: jax.Array,
  epsilon: float,
) -> jax.Array:
  """By running statistics, per channel of `[B, C, ...]`."""
  factor = lax.rsqrt(variance.astype(jnp.float32) + epsilon)
  if weight is not None:
    factor = factor * weight
  # Centred first: `x * factor + offset` cancels where the mean is far.
  wide = (x.astype(jnp.float32) - _per_channel(mean, x)) * _per_channel(
    factor, x
  )
  if bias is not None:
    wide = wide + _per_channel(bias, x)
  return wide.astype(x.dtype)


def native_batch_norm(
  x: jax.Array,
  weight: Gain,
  bias: Gain,
  mean: jax.Array,
  variance: jax.Array,
  momentum: float,
  epsilon: float,
) -> tuple[jax.Array]:
  """aten._native_batch_norm_legit_no_training; of its answers the first."""
  del momentum  # only training moves statistics
  return (batch_norm(x, weight, bias, mean, variance, epsilon),)


def batch_norm_of_batch(
  x: jax.Array,
  weight: Gain,
  bias: Gain,
  training: bool,
  momentum: float,
  epsilon: float,
) -> tuple[jax.Array]:
  """aten._native_batch_norm_legit.no_stats; of its answers the first.

  By the statistics of the array itself: networks standardise weights so.
  """
  del training, momentum  # there are no running statistics
  axes = tuple(a for a in range(x.ndim) if a != 1)
  normal = _standard(x, axes, epsilon)
  gain = None if weight is None else _per_channel(weight, x)
  offset = None if bias is None else _per_channel(bias, x)
  return (_gained(normal, gain, offset).astype(x.dtype),)


def layer_norm(
  x: jax.Array,
  shape: Sequence[int],
  weight: Gain = None,
  bias: Gain = None,
  epsilon: float = 1e-5,
  cudnn: bool = True,
) -> jax.Array:
  """Over the last axes, those of `shape`."""
  del cudnn
  normal = _standard(x, tuple(range(x.ndim - len(shape), x.ndim)), epsilon)
  return _gained(normal, weight, bias).astype(x.dtype)


def native_layer_norm(
  x: jax.Array, shape: Sequence[int], weight: Gain, bias: Gain, epsilon: float
) -> tuple[jax.Array]:
  """aten.native_layer_norm; of its answers the first."""
  return (layer_norm(x, shape, weight, bias, epsilon),)


def group_norm(
  x: jax.Array,
  groups: int,
  weight: Gain = None,
  bias: Gain = None,
  epsilon: float = 1e-5,
  cudnn: bool = True,
) -> jax.Array:
  """Over the channels of each group of `[B, C, ...]`, and its positions."""
  del cudnn
  split = x.reshape(x.shape[0], groups, -1)
  normal = _standard(split, (2,), epsilon).reshape(x.shape)
  gain = None if weight is None else _per_channel(weight, x)
  offset = None if bias is None else _per_channel(bias, x)
  return _gained(normal, gain, offset).astype(x.dtype)


def native_group_norm(
  x: jax.Array,
  weight: Gain,
  bias: Gain,
  rows: int,
  channels: int,
  positions: int,
  groups: int,
  epsilon: float,
) -> tuple[jax.Array]:
  """aten.native_group_norm; of its answers the first."""
  del rows, channels, positions  # the array's own
  return (group_norm(x, groups, weight, bias, epsilon),)


def rms_norm(
  x: jax.Array,
  shape: Sequence[int],
  weight: Gain = None,
  epsilon: float | None = None,
) -> jax.Array:
  """Over the last axes, without centring; epsilon is float32's by default."""
  least = float(jnp.finfo(x.dtype).eps) if epsilon is None else epsilon
  wide = x.astype(jnp.float32)
  axes = tuple(range(x.ndim - len(shape), x.ndim))
  power = jnp.square(wide).mean(axes, keepdims=True)
  return _gained(wide * lax.rsqrt(power + least), weight, None).astype(x.dtype)


def fused_rms_norm(
  x: jax.Array, shape: Sequence[int], weight: Gain, epsilon: float | None
) -> tuple[jax.Array]:
  """aten._fused_rms_norm; of its answers the first."""
  return (rms_norm(x, shape, weight, epsilon),)


def vector_norm(
  x: jax.Array,
  order: float = 2,
  axes: Sequence[int] | None = None,
  keepdims: bool = False,
  *,
  dtype: jnp.dtype | None = None,
) -> jax.Array:
  """(sum |x|^order)^(1 / order) over axes; all of them by default."""
  wide = jnp.abs(x.astype(jnp.float32))
  over = tuple(axes) if axes else None
  if math.isinf(order):
    reduce = jnp.max if order > 0 else jnp.min
    norm = reduce(wide, over, keepdims=keepdims)
  elif order == 0:
    norm = (wide != 0).sum(over, keepdims=keepdims).astype(jnp.float32)
  elif order == 2:
    norm = jnp.sqrt(jnp.square(wide).sum(over, keepdims=keepdims))
  else:
    norm = (wide**order).sum(over, keepdims=keepdims) ** (1 / order)
  return norm.astype(dtype or x.dtype)


def _standard(x: jax.Array, axes: tuple[int, ...], epsilon: float) -> jax.Array:
  """Mean 0 and variance 1 over the axes, in float32."""
  wide = x.astype(jnp.float32)
  centred = wide - wide.mean(axes, keepdims=True)
  variance = jnp.square(centred).mean(axes, keepdims=True)
  return centred * lax.rsqrt(variance + epsilon)


def _gained(x: jax.Array, weight: Gain, bias: Gain) -> jax.Array:
  x = x if weight is None else x * weight
  return x if bias is None else x + bias


def _per_channel(values: jax.Array, x: jax.Array) -> jax.Array:
  return values.reshape(1, -1, *(1,) * (x.ndim - 2))


TABLE = {
  "aten._native_batch_norm_legit.no_stats": batch_norm_of_batch,
  "aten._native_batch_norm_legit_no_training.default": native_batch_norm,
  "aten.layer_norm.default": layer_norm,
  "aten.native_layer_norm.default": native_layer_norm,
  "aten.group_norm.default": group_norm,
  "aten.native_group_norm.default": native_group_norm,
  "aten.rms_norm.default": rms_norm,
  "aten._fused_rms_norm.default": fused_rms_norm,
  "aten.linalg_vector_norm.default": vector_norm,
}
