"""What is done to each value by itself, with torch's promotion of dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Value = jax.Array | float | int | bool
Bound = Value | None


def add(x: Value, y: Value, *, alpha: float = 1) -> jax.Array:
  """`x + alpha y`."""
  return jnp.add(x, y if alpha == 1 else jnp.multiply(y, alpha))


def sub(x: Value, y: Value, *, alpha: float = 1) -> jax.Array:
  """`x - alpha y`."""
  return jnp.subtract(x, y if alpha == 1 else jnp.multiply(y, alpha))


def rsub(x: Value, y: Value, alpha: float = 1) -> jax.Array:
  """`y - alpha x`."""
  return sub(y, x, alpha=alpha)


def div(x: Value, y: Value, *, rounding_mode: str | None = None) -> jax.Array:
  """`x / y`, as it is, or rounded to `floor` or towards 0 (`trunc`)."""
  if rounding_mode == "floor":
    return jnp.floor_divide(x, y)
  if rounding_mode == "trunc":
    kind = jnp.result_type(x, y)
    return jnp.trunc(jnp.true_divide(x, y)).astype(kind)
  return jnp.true_divide(x, y)


def power(x: Value, exponent: Value) -> jax.Array:
  """`x ** exponent`; roots and whole powers without logarithms."""
  if isinstance(exponent, (int, float)):
    if exponent == 0.5:
      return jnp.sqrt(x)
    if exponent == -0.5:
      return lax.rsqrt(x)
    floating = jnp.issubdtype(jnp.result_type(x), jnp.floating)
    if floating and exponent == int(exponent) and abs(exponent) < 32:
      return lax.integer_pow(x, int(exponent))
  return jnp.power(x, exponent)


def clamp(x: jax.Array, low: Bound = None, high: Bound = None) -> jax.Array:
  """Between two bounds; where they cross, the upper one."""
  x = x if low is None else jnp.maximum(x, low)
  return x if high is None else jnp.minimum(x, high)


def clamp_max(x: jax.Array, high: Value) -> jax.Array:
  """At most `high`."""
  return jnp.minimum(x, high)


def hardtanh(x: jax.Array, low: float = -1, high: float = 1) -> jax.Array:
  """Between two bounds."""
  return clamp(x, low, high)


def relu(x: jax.Array) -> jax.Array:
  """At least 0."""
  return jnp.maximum(x, 0)


def relu6(x: jax.Array) -> jax.Array:
  """Between 0 and 6."""
  return clamp(x, 0, 6)


def hardsigmoid(x: jax.Array) -> jax.Array:
  """`relu6(x + 3) / 6`."""
  return clamp(x + 3, 0, 6) / 6


def hardswish(x: jax.Array) -> jax.Array:
  """`x relu6(x + 3) / 6`."""
  return x * clamp(x + 3, 0, 6) / 6


def gelu(x: jax.Array, *, approximate: str = "none") -> jax.Array:
  """By the error function, or its approximation by `tanh`."""
  return jax.nn.gelu(x, approximate=approximate == "tanh")


def leaky_relu(x: jax.Array, slope: float = 0.01) -> jax.Array:
  """`slope x` below 0."""
  return jnp.where(x > 0, x, x * slope)


def prelu(x: jax.Array, weight: jax.Array) -> jax.Array:
  """`weight x` below 0, with a weight per channel of `[B, C, ...]`."""
  if weight.ndim == 1 and x.ndim > 1:
    weight = weight.reshape(1, -1, *(1,) * (x.ndim - 2))
  return jnp.where(x > 0, x, x * weight)


def elu(
  x: jax.Array, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> jax.Array:
  """`scale x` above 0, `scale alpha (exp(input_scale x) - 1)` below."""
  below = alpha * jnp.expm1(jnp.minimum(x, 0) * input_scale)
  return scale * jnp.where(x > 0, x, below)


def softplus(x: jax.Array, beta: float = 1, threshold: float = 20) -> jax.Array:
  """`log(1 + exp(beta x)) / beta`; x itself above the threshold."""
  return jnp.where(x * beta > threshold, x, jnp.logaddexp(x * beta, 0) / beta)


def mish(x: jax.Array) -> jax.Array:
  """`x tanh(softplus(x))`."""
  return x * jnp.tanh(jnp.logaddexp(x, 0))


def where(condition: jax.Array, x: Value, y: Value) -> jax.Array:
  """x where the condition holds, else y."""
  return jnp.where(condition, x, y)


def masked_fill(x: jax.Array, mask: jax.Array, value: Value) -> jax.Array:
  """`value` where the mask holds, in the dtype of x."""
  return jnp.where(mask, jnp.asarray(value, x.dtype), x)


def addcmul(
  x: jax.Array, a: jax.Array, b: jax.Array, *, value: float = 1
) -> jax.Array:
  """`x + value a b`."""
  return x + a * b * value


def addcdiv(
  x: jax.Array, a: jax.Array, b: jax.Array, *, value: float = 1
) -> jax.Array:
  """`x + value a / b`."""
  return x + a / b * value


def lerp(x: jax.Array, y: jax.Array, weight: Value) -> jax.Array:
  """`x + weight (y - x)`."""
  return x + weight * (y - x)


def threshold(x: jax.Array, least: float, value: float) -> jax.Array:
  """`value` where x is not above `least`."""
  return jnp.where(x > least, x, value)


def glu(x: jax.Array, axis: int = -1) -> jax.Array:
  """One half of an axis times the sigmoid of the other."""
  a, b = jnp.split(x, 2, axis)
  return a * jax.nn.sigmoid(b)


def rounded(x: jax.Array, *, decimals: int = 0) -> jax.Array:
  """To the nearest, halves to the even one."""
  return jnp.round(x, decimals)


def _of_floats(
  function: Callable[[Any], jax.Array],
) -> Callable[..., jax.Array]:
  """Of whole numbers and bools too, as float32."""

  def on_floats(x: jax.Array) -> jax.Array:
    floating = jnp.issubdtype(jnp.result_type(x), jnp.floating)
    return function(x if floating else jnp.asarray(x, jnp.float32))

  return on_floats


_FLOATS: dict[str, Callable[..., Any]] = {
  "acos": jnp.arccos,
  "asin": jnp.arcsin,
  "atan": jnp.arctan,
  "cos": jnp.cos,
  "cosh": jnp.cosh,
  "erf": lax.erf,
  "exp": jnp.exp,
  "exp2": jnp.exp2,
  "expm1": jnp.expm1,
  "log": jnp.log,
  "log10": jnp.log10,
  "log1p": jnp.log1p,
  "log2": jnp.log2,
  "reciprocal": jnp.reciprocal,
  "rsqrt": lax.rsqrt,
  "sigmoid": jax.nn.sigmoid,
  "sin": jnp.sin,
  "sinh": jnp.sinh,
  "sqrt": jnp.sqrt,
  "tan": jnp.tan,
  "tanh": jnp.tanh,
}
_SINGLE: dict[str, Callable[..., Any]] = {
  "abs": jnp.abs,
  "bitwise_not": jnp.bitwise_not,
  "ceil": jnp.ceil,
  "floor": jnp.floor,
  "hardsigmoid": hardsigmoid,
  "hardswish": hardswish,
  "isfinite": jnp.isfinite,
  "isinf": jnp.isinf,
  "isnan": jnp.isnan,
  "logical_not": jnp.logical_not,
  "log_sigmoid": jax.nn.log_sigmoid,
  "mish": mish,
  "neg": jnp.negative,
  "relu": relu,
  "relu6": relu6,
  "sign": jnp.sign,
  "silu": jax.nn.silu,
  "square": jnp.square,
  "trunc": jnp.trunc,
}
_OPTIONS: dict[str, Callable[..., Any]] = {
  "addcdiv": addcdiv,
  "addcmul": addcmul,
  "clamp": clamp,
  "clamp_max": clamp_max,
  "clamp_min": jnp.maximum,
  "elu": elu,
  "gelu": gelu,
  "glu": glu,
  "hardtanh": hardtanh,
  "leaky_relu": leaky_relu,
  "prelu": prelu,
  "_prelu_kernel": prelu,
  "round": rounded,
  "round.decimals": rounded,
  "softplus": softplus,
  "threshold": threshold,
}
# Of two arrays, or an array and a number.
_PAIRS: dict[str, Callable[..., Any]] = {
  "add": add,
  "atan2": jnp.arctan2,
  "bitwise_and": jnp.bitwise_and,
  "bitwise_or": jnp.bitwise_or,
  "bitwise_xor": jnp.bitwise_xor,
  "div": div,
  "eq": jnp.equal,
  "floor_divide": jnp.floor_divide,
  "fmod": jnp.fmod,
  "ge": jnp.greater_equal,
  "gt": jnp.greater,
  "le": jnp.less_equal,
  "logical_and": jnp.logical_and,
  "logical_or": jnp.logical_or,
  "logical_xor": jnp.logical_xor,
  "lt": jnp.less,
  "maximum": jnp.maximum,
  "minimum": jnp.minimum,
  "mul": jnp.multiply,
  "ne": jnp.not_equal,
  "pow": power,
  "remainder": jnp.mod,
  "rsub": rsub,
  "sub": sub,
}
_FORMS = (
  "default",
  "Scalar",
  "Scalar_Tensor",
  "Tensor",
  "Tensor_Scalar",
  "Tensor_Tensor",
  "Tensor_mode",
  "Scalar_mode",
)

TABLE: dict[str, Callable[..., Any]] = {
  **{f"aten.{n}.default": _of_floats(f) for n, f in _FLOATS.items()},
  **{f"aten.{n}.default": f for n, f in _SINGLE.items()},
  **{
    f"aten.{n}" if "." in n else f"aten.{n}.default": f
    for n, f in _OPTIONS.items()
  },
  **{f"aten.{n}.{form}": f for n, f in _PAIRS.items() for form in _FORMS},
  "aten.clamp.Tensor": clamp,
  "aten.clamp_max.Tensor": clamp_max,
  "aten.clamp_min.Tensor": jnp.maximum,
  "aten.lerp.Scalar": lerp,
  "aten.lerp.Tensor": lerp,
  "aten.masked_fill.Scalar": masked_fill,
  "aten.masked_fill.Tensor": masked_fill,
  "aten.where.self": where,
  "aten.where.ScalarOther": where,
  "aten.where.ScalarSelf": where,
  "aten.where.Scalar": where,
}
