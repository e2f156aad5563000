"""Dtypes of ONNX's elements (onnx.proto3, TensorProto.DataType)."""

import jax.numpy as jnp
import numpy as np

from models.adapters.onnx_graph.operators.node import (
  UntraceableError,
)

_TYPES: dict[int, type] = {
  1: np.float32,
  2: np.uint8,
  3: np.int8,
  4: np.uint16,
  5: np.int16,
  6: np.int32,
  7: np.int64,
  9: np.bool_,
  10: np.float16,
  11: np.float64,
  12: np.uint32,
  13: np.uint64,
  16: jnp.bfloat16,
}


def dtype_of(number: int) -> np.dtype:
  """Return the dtype with a number.

  Raises:
    UntraceableError: it is of text, complex numbers, or fewer than eight bits.
  """
  if number not in _TYPES:
    raise UntraceableError(
      f"The element type {number} (onnx.TensorProto.DataType) is unknown to JAX"
      " here."
    )
  return np.dtype(_TYPES[number])
