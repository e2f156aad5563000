"""Activation functions, and softmax over an axis."""

import jax
import jax.numpy as jnp
import numpy as np

from models.adapters.onnx_graph.operators.node import (
  Array,
  Node,
  Operator,
)

# Defaults are those of the specification, onnx/defs/math/defs.cc.


def _relu(node: Node, x: Array) -> jax.Array:
  del node
  return jnp.maximum(x, np.zeros((), x.dtype))


def _leaky_relu(node: Node, x: Array) -> jax.Array:
  return jax.nn.leaky_relu(x, node.attributes.get("alpha", 0.01))


def _prelu(node: Node, x: Array, slope: Array) -> jax.Array:
  del node
  return jnp.where(x >= 0, x, slope * x)


def _elu(node: Node, x: Array) -> jax.Array:
  return jax.nn.elu(x, node.attributes.get("alpha", 1.0))


def _celu(node: Node, x: Array) -> jax.Array:
  return jax.nn.celu(x, node.attributes.get("alpha", 1.0))


def _selu(node: Node, x: Array) -> jax.Array:
  alpha = node.attributes.get("alpha", 1.67326319217681884765625)
  gamma = node.attributes.get("gamma", 1.05070102214813232421875)
  return gamma * jax.nn.elu(x, alpha)


def _thresholded_relu(node: Node, x: Array) -> jax.Array:
  return jnp.where(x > node.attributes.get("alpha", 1.0), x, 0)


def _shrink(node: Node, x: Array) -> jax.Array:
  bias = node.attributes.get("bias", 0.0)
  limit = node.attributes.get("lambd", 0.5)
  return jnp.where(
    x < -limit, x + bias, jnp.where(x > limit, x - bias, 0)
  ).astype(x.dtype)


def _sigmoid(node: Node, x: Array) -> jax.Array:
  del node
  return jax.nn.sigmoid(x)


def _hard_sigmoid(node: Node, x: Array) -> jax.Array:
  alpha = node.attributes.get("alpha", 0.2)
  beta = node.attributes.get("beta", 0.5)
  return jnp.clip(alpha * x + beta, 0, 1)


def _hard_swish(node: Node, x: Array) -> jax.Array:
  del node
  return x * jnp.clip(x / 6 + 0.5, 0, 1)


def _swish(node: Node, x: Array) -> jax.Array:
  return x * jax.nn.sigmoid(node.attributes.get("alpha", 1.0) * x)


def _mish(node: Node, x: Array) -> jax.Array:
  del node
  return x * jnp.tanh(jax.nn.softplus(x))


def _gelu(node: Node, x: Array) -> jax.Array:
  return jax.nn.gelu(x, node.attributes.get("approximate") == "tanh")


def _softplus(node: Node, x: Array) -> jax.Array:
  del node
  return jax.nn.softplus(x)


def _softsign(node: Node, x: Array) -> jax.Array:
  del node
  return jax.nn.soft_sign(x)


def _axes(node: Node, x: Array) -> tuple[int, ...]:
  """Return the axes of a softmax; before opset 13 all from `axis` on."""
  axis: int = node.attributes.get("axis", 1 if node.opset < 13 else -1)
  if node.opset < 13:
    return tuple(range(axis % x.ndim, x.ndim))
  return (axis,)


def _softmax(node: Node, x: Array) -> jax.Array:
  return jax.nn.softmax(x, _axes(node, x))


def _log_softmax(node: Node, x: Array) -> jax.Array:
  return jax.nn.log_softmax(x, _axes(node, x))


def _hardmax(node: Node, x: Array) -> jax.Array:
  axes = _axes(node, x)
  if len(axes) > 1:
    raise node.refuse("several axes (opset below 13) are unknown here.")
  best = jnp.argmax(x, axes[0])
  return jax.nn.one_hot(best, x.shape[axes[0]], dtype=x.dtype, axis=axes[0])


OPERATORS = {
  "Celu": Operator(_celu),
  "Elu": Operator(_elu),
  "Gelu": Operator(_gelu),
  "HardSigmoid": Operator(_hard_sigmoid),
  "HardSwish": Operator(_hard_swish),
  "Hardmax": Operator(_hardmax),
  "LeakyRelu": Operator(_leaky_relu),
  "LogSoftmax": Operator(_log_softmax),
  "Mish": Operator(_mish),
  "PRelu": Operator(_prelu),
  "Relu": Operator(_relu),
  "Selu": Operator(_selu),
  "Shrink": Operator(_shrink),
  "Sigmoid": Operator(_sigmoid),
  "Softmax": Operator(_softmax),
  "Softplus": Operator(_softplus),
  "Softsign": Operator(_softsign),
  "Swish": Operator(_swish),
  "ThresholdedRelu": Operator(_thresholded_relu),
}
