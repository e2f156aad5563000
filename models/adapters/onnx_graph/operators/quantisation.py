"""Quantisation to eight bits: a number is (q - zero point) * scale."""

import jax
import jax.numpy as jnp
import numpy as np

from models.adapters.onnx_graph.operators import dtypes
from models.adapters.onnx_graph.operators.node import (
  Array,
  Node,
  Operator,
)


def _broadcast(values: Array, node: Node, x: Array) -> Array:
  """Shape one value for all, or one for each element of an axis, like `x`."""
  if values.ndim == 0 or values.size == 1:
    return values.reshape(())
  if node.attributes.get("block_size"):
    raise node.refuse("blocks are unknown to JAX here.")
  axis = node.attributes.get("axis", 1) % x.ndim
  return values.reshape(-1, *(1,) * (x.ndim - 1 - axis))


def _dequantize(
  node: Node, x: Array, scale: Array, zero: Array | None = None
) -> jax.Array:
  steps = jnp.asarray(x).astype(jnp.int32)
  if zero is not None:
    steps = steps - _broadcast(zero, node, x).astype(jnp.int32)
  return steps.astype(scale.dtype) * _broadcast(scale, node, x)


def _quantize(
  node: Node, x: Array, scale: Array, zero: Array | None = None
) -> jax.Array:
  number = node.attributes.get("output_dtype", 0)
  dtype = dtypes.dtype_of(number) if number else np.dtype(np.uint8)
  steps = jnp.round(x / _broadcast(scale, node, x))
  if zero is not None:
    dtype = zero.dtype
    steps = steps + _broadcast(zero, node, x).astype(x.dtype)
  limits = np.iinfo(dtype)
  return jnp.clip(steps, limits.min, limits.max).astype(dtype)


OPERATORS = {
  "DequantizeLinear": Operator(_dequantize),
  "QuantizeLinear": Operator(_quantize),
}
