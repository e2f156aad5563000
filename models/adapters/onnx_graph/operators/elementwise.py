"""Arithmetic, comparison and logic, element by element with broadcasting."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from models.adapters.onnx_graph.operators import dtypes
from models.adapters.onnx_graph.operators.node import (
  Array,
  Node,
  Operator,
  is_static,
  numpy_of,
)

# Operator -> its name in NumPy and jax.numpy.
_NAMES = {
  "Abs": "abs",
  "Acos": "arccos",
  "Acosh": "arccosh",
  "Add": "add",
  "And": "logical_and",
  "Asin": "arcsin",
  "Asinh": "arcsinh",
  "Atan": "arctan",
  "Atanh": "arctanh",
  "BitwiseAnd": "bitwise_and",
  "BitwiseNot": "bitwise_not",
  "BitwiseOr": "bitwise_or",
  "BitwiseXor": "bitwise_xor",
  "Ceil": "ceil",
  "Cos": "cos",
  "Cosh": "cosh",
  "Equal": "equal",
  "Exp": "exp",
  "Floor": "floor",
  "Greater": "greater",
  "GreaterOrEqual": "greater_equal",
  "IsNaN": "isnan",
  "Less": "less",
  "LessOrEqual": "less_equal",
  "Log": "log",
  "Mul": "multiply",
  "Neg": "negative",
  "Not": "logical_not",
  "Or": "logical_or",
  "Round": "round",  # halves to even, as ONNX rounds
  "Sign": "sign",
  "Sin": "sin",
  "Sinh": "sinh",
  "Sqrt": "sqrt",
  "Sub": "subtract",
  "Tan": "tan",
  "Tanh": "tanh",
  "Where": "where",
  "Xor": "logical_xor",
}


def _same_name(name: str, node: Node, *values: Array) -> Array:
  del node
  return vars(numpy_of(*values))[name](*values)


def _folded(name: str, node: Node, *values: Array) -> Array:
  """Combine any number of inputs."""
  del node
  combine = vars(numpy_of(*values))[name]
  return functools.reduce(combine, values)


def _mean(node: Node, *values: Array) -> Array:
  return _folded("add", node, *values) / np.float32(len(values))


def _div(node: Node, x: Array, y: Array) -> Array:
  """Divide; quotients of whole numbers are rounded towards zero, as in C."""
  del node
  xp = numpy_of(x, y)
  if jnp.issubdtype(x.dtype, jnp.floating):
    return xp.divide(x, y)
  quotient = xp.floor_divide(xp.abs(x), xp.abs(y)) * xp.sign(x) * xp.sign(y)
  return quotient.astype(x.dtype)


def _mod(node: Node, x: Array, y: Array) -> Array:
  """Return the remainder, with the divisor's sign or as C's fmod."""
  xp = numpy_of(x, y)
  return (xp.fmod if node.attributes.get("fmod") else xp.mod)(x, y)


def _pow(node: Node, x: Array, y: Array) -> Array:
  del node
  if not is_static(x) and is_static(y) and y.size == 1 and y.item() in (2, 3):
    return jax.lax.integer_pow(x, int(y.item()))
  return numpy_of(x, y).power(x, y).astype(x.dtype)


def _bit_shift(node: Node, x: Array, y: Array) -> Array:
  left = node.attributes["direction"] == "LEFT"
  xp = numpy_of(x, y)
  return (xp.left_shift if left else xp.right_shift)(x, y)


def _is_inf(node: Node, x: Array) -> Array:
  xp = numpy_of(x)
  positive = node.attributes.get("detect_positive", 1)
  negative = node.attributes.get("detect_negative", 1)
  return xp.isinf(x) & xp.where(x > 0, bool(positive), bool(negative))


def _reciprocal(node: Node, x: Array) -> Array:
  del node
  return np.ones((), x.dtype) / x


def _erf(node: Node, x: Array) -> Any:
  del node
  return jax.lax.erf(jnp.asarray(x))


def _clip(
  node: Node, x: Array, low: Array | None = None, high: Array | None = None
) -> Array:
  xp = numpy_of(x, low, high)
  low = node.attributes.get("min") if low is None else low
  high = node.attributes.get("max") if high is None else high
  # In this order: if low is above high, ONNX returns high.
  x = x if low is None else xp.maximum(x, xp.asarray(low, x.dtype))
  return x if high is None else xp.minimum(x, xp.asarray(high, x.dtype))


def _cast(node: Node, x: Array) -> Array:
  return _to(x, dtypes.dtype_of(node.attributes["to"]))


def _cast_like(node: Node, x: Array, target: Array) -> Array:
  del node
  return _to(x, target.dtype)


def _to(x: Array, dtype: Any) -> Array:
  """Convert an array; known numbers keep 64 bits, JAX's have at most 32."""
  return x.astype(
    dtype if is_static(x) else jax.dtypes.canonicalize_dtype(dtype)
  )


def _identity(node: Node, x: Any, *others: Any) -> Any:
  del node, others
  return x


def _dropout(node: Node, x: Array, *others: Array) -> Any:
  """Return the input and a mask of ones: nothing is dropped in evaluation."""
  ratio, training = (*others, None, None)[:2]
  del ratio
  if training is not None and np.any(training):
    raise node.refuse("is in training mode. Export the model in eval mode.")
  return x, numpy_of(x).ones(x.shape, bool)


OPERATORS = {
  **{
    name: Operator(functools.partial(_same_name, function))
    for name, function in _NAMES.items()
  },
  "BitShift": Operator(_bit_shift),
  "Cast": Operator(_cast),
  "CastLike": Operator(_cast_like, unread=(1,)),
  "Clip": Operator(_clip, folded=(1, 2)),
  "Div": Operator(_div),
  "Dropout": Operator(_dropout, static=(2,), folded=(1,)),
  "Erf": Operator(_erf),
  "Identity": Operator(_identity),
  "IsInf": Operator(_is_inf),
  "Max": Operator(functools.partial(_folded, "maximum")),
  "Mean": Operator(_mean),
  "Min": Operator(functools.partial(_folded, "minimum")),
  "Mod": Operator(_mod),
  "Pow": Operator(_pow, folded=(1,)),
  "Reciprocal": Operator(_reciprocal),
  "Sum": Operator(functools.partial(_folded, "add")),
}
