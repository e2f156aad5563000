"""Products of matrices, and attention."""

import jax
import jax.numpy as jnp
import numpy as np

from models.adapters.onnx_graph.operators.node import (
  Array,
  Node,
  Operator,
)


def _matmul(node: Node, x: Array, y: Array) -> jax.Array:
  del node
  return jnp.matmul(x, y)


def _gemm(
  node: Node, x: Array, y: Array, bias: Array | None = None
) -> jax.Array:
  x = x.T if node.attributes.get("transA") else x
  y = y.T if node.attributes.get("transB") else y
  alpha = node.attributes.get("alpha", 1.0)
  product = jnp.matmul(x, y)
  product = product if alpha == 1 else product * np.asarray(alpha, x.dtype)
  if bias is None:
    return product
  beta = node.attributes.get("beta", 1.0)
  return product + (bias if beta == 1 else bias * np.asarray(beta, x.dtype))


def _einsum(node: Node, *operands: Array) -> jax.Array:
  return jnp.einsum(node.attributes["equation"], *operands)


def _attention(
  node: Node,
  query: Array,
  key: Array,
  value: Array,
  mask: Array | None = None,
  *past: Array | None,
) -> jax.Array:
  """Compute softmax(query key^T scale + mask) value on `[B, heads, N, D]`."""
  rare = ("softcap", "qk_matmul_output_mode", "softmax_precision")
  if (
    any(p is not None for p in past)
    or any(node.attributes.get(name) for name in rare)
    or query.ndim != 4
  ):
    raise node.refuse("this form is unknown to JAX here.")
  groups = query.shape[1] // key.shape[1]
  key, value = (jnp.repeat(v, groups, 1) for v in (key, value))
  scale = node.attributes.get("scale", query.shape[-1] ** -0.5)
  scores = query @ key.swapaxes(2, 3) * np.asarray(scale, query.dtype)
  if node.attributes.get("is_causal"):
    before = np.tri(scores.shape[2], scores.shape[3], dtype=bool)
    scores = jnp.where(before, scores, -np.inf)
  if mask is not None and mask.dtype == bool:
    scores = jnp.where(mask, scores, -np.inf)
  elif mask is not None:
    scores = scores + mask
  return jax.nn.softmax(scores, -1) @ value


OPERATORS = {
  "Attention": Operator(_attention),
  "Einsum": Operator(_einsum, product=True),
  "Gemm": Operator(_gemm, product=True),
  "MatMul": Operator(_matmul, product=True),
}
