"""Normalisation with statistics of the graph, a picture or an axis."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from models.adapters.onnx_graph.operators.node import (
  Array,
  Node,
  Operator,
)

_EPSILON = 1e-5  # the default of all of them in the specification


def _per_channel(values: Array, like: Array) -> Array:
  """Shape `[C]` for broadcasting with `[B, C, ...]`."""
  return values.reshape(-1, *(1,) * (like.ndim - 2))


def _batch_norm(node: Node, x: Array, *arrays: Array) -> jax.Array:
  if layer := node.attributes.get("layer"):  # of a graph that was opened
    return layer(x)
  scale, bias, mean, var = arrays
  if node.attributes.get("training_mode"):
    raise node.refuse("is in training mode. Export the model in eval mode.")
  gain = scale * jax.lax.rsqrt(var + _epsilon(node, var))
  centred = x - _per_channel(mean, x)
  return centred * _per_channel(gain, x) + _per_channel(bias, x)


def _epsilon(node: Node, like: Array) -> Any:
  return np.asarray(node.attributes.get("epsilon", _EPSILON), like.dtype)


def _standardised(x: Array, axes: tuple[int, ...], epsilon: Any) -> Any:
  """Return x without its mean and deviation, the mean, and 1 / deviation."""
  mean = jnp.mean(x, axes, keepdims=True)
  centred = x - mean
  inverse = jax.lax.rsqrt(
    jnp.mean(jnp.square(centred), axes, keepdims=True) + epsilon
  )
  return centred * inverse, mean, inverse


def _layer_norm(
  node: Node, x: Array, scale: Array = None, bias: Array | None = None
) -> Any:
  if layer := node.attributes.get("layer"):  # of a graph that was opened
    return layer(x)
  axis = node.attributes.get("axis", -1) % x.ndim
  # `stash_type` says: statistics in float32, whatever the pixels are.
  wide = x.astype(jnp.float32)
  epsilon = _epsilon(node, wide)
  normal, *moments = _standardised(wide, tuple(range(axis, x.ndim)), epsilon)
  y = normal.astype(x.dtype) * scale
  return (y if bias is None else y + bias, *moments)


def _rms_norm(node: Node, x: Array, scale: Array) -> jax.Array:
  axis = node.attributes.get("axis", -1) % x.ndim
  wide = x.astype(jnp.float32)
  squares = jnp.square(wide).mean(tuple(range(axis, x.ndim)), keepdims=True)
  normal = wide * jax.lax.rsqrt(squares + _epsilon(node, wide))
  return normal.astype(x.dtype) * scale


def _instance_norm(node: Node, x: Array, scale: Array, bias: Array) -> Any:
  axes = tuple(range(2, x.ndim))
  normal, *_ = _standardised(x, axes, _epsilon(node, x))
  return normal * _per_channel(scale, x) + _per_channel(bias, x)


def _group_norm(node: Node, x: Array, scale: Array, bias: Array) -> Any:
  groups = node.attributes["num_groups"]
  parts = x.reshape(x.shape[0], groups, -1)
  normal, *_ = _standardised(parts, (2,), _epsilon(node, x))
  # Before opset 21 a group had one gain, now a channel has.
  repeats = x.shape[1] // scale.shape[0]
  gain, shift = (jnp.repeat(v, repeats) for v in (scale, bias))
  y = normal.reshape(x.shape)
  return y * _per_channel(gain, x) + _per_channel(shift, x)


def _local_response(node: Node, x: Array) -> jax.Array:
  size = node.attributes["size"]
  alpha = node.attributes.get("alpha", 1e-4)
  beta = node.attributes.get("beta", 0.75)
  bias = node.attributes.get("bias", 1.0)
  before = (size - 1) // 2
  around = jax.lax.reduce_window(
    jnp.square(x),
    np.zeros((), x.dtype),
    jax.lax.add,
    (1, size, *(1,) * (x.ndim - 2)),
    (1,) * x.ndim,
    ((0, 0), (before, size - 1 - before), *((0, 0),) * (x.ndim - 2)),
  )
  return x / (bias + alpha / size * around) ** beta


def _mean_variance(node: Node, x: Array) -> jax.Array:
  axes = node.attributes.get("axes", (0, 2, 3))
  if 0 in axes:
    raise node.refuse(
      "normalises over the batch, so that a picture's answer depends on its"
      " neighbours."
    )
  # The specification adds 1e-9 to the spread.
  centred = x - jnp.mean(x, axes, keepdims=True)
  spread = jnp.sqrt(jnp.square(centred).mean(axes, keepdims=True))
  return centred / (spread + 1e-9)


def _lp_norm(node: Node, x: Array) -> jax.Array:
  axis = node.attributes.get("axis", -1)
  if node.attributes.get("p", 2) == 1:
    return x / jnp.sum(abs(x), axis, keepdims=True)
  return x / jnp.sqrt(jnp.square(x).sum(axis, keepdims=True))


OPERATORS = {
  "BatchNormalization": Operator(_batch_norm),
  "GroupNormalization": Operator(_group_norm),
  "InstanceNormalization": Operator(_instance_norm),
  "LRN": Operator(_local_response),
  "LayerNormalization": Operator(_layer_norm),
  "LpNormalization": Operator(_lp_norm),
  "MeanVarianceNormalization": Operator(_mean_variance),
  "RMSNormalization": Operator(_rms_norm),
}
