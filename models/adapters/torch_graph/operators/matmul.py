"""Products of matrices, and attention."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp


def addmm(
  x: jax.Array, a: jax.Array, b: jax.Array, *, beta: float = 1, alpha: float = 1
) -> jax.Array:
  """`beta x + alpha a b`; of batches (aten.baddbmm) too."""
  product = a @ b
  product = product if alpha == 1 else alpha * product
  return product + (x if beta == 1 else beta * x)


def linear(
  x: jax.Array, weight: jax.Array, bias: jax.Array | None = None
) -> jax.Array:
  """`x weight^T + bias`; the weight is `[outputs, inputs]`."""
  product = x @ weight.T
  return product if bias is None else product + bias


def attention(
  query: jax.Array,
  key: jax.Array,
  value: jax.Array,
  mask: jax.Array | None = None,
  dropout: float = 0.0,
  is_causal: bool = False,
  *,
  scale: float | None = None,
  enable_gqa: bool = False,
) -> jax.Array:
  """softmax(query key^T scale + mask) value.

  Args:
    query: `[..., L, E]`.
    key: `[..., S, E]`.
    value: `[..., S, V]`.
    mask: of bools, True where a position takes part, or added; `[..., L, S]`.
    dropout: 0 in evaluation.
    is_causal: whether a position sees only those up to its own.
    scale: 1 / sqrt(E) by default.
    enable_gqa: whether several queries share a head of keys and values.

  Returns:
    `[..., L, V]`; 0 where a mask leaves nothing.
  """
  del dropout
  if enable_gqa:
    times = query.shape[-3] // key.shape[-3]
    key, value = (jnp.repeat(x, times, axis=-3) for x in (key, value))
  factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
  # Scaled before the product, each side by the root, as torch's own does.
  root = math.sqrt(abs(factor))
  scores = (query * root) @ jnp.swapaxes(
    key * math.copysign(root, factor), -1, -2
  )
  scores = scores.astype(jnp.float32)
  if is_causal:
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
  if mask is not None:
    if mask.dtype == jnp.bool_:
      scores = jnp.where(mask, scores, -jnp.inf)
    else:
      scores = scores + mask
  weights = jax.nn.softmax(scores, axis=-1)
  if mask is not None:
    empty = (scores == -jnp.inf).all(-1, keepdims=True)
    weights = jnp.where(empty, 0, weights)
  return weights.astype(value.dtype) @ value


def einsum(equation: str, arrays: Any, *, path: Any = None) -> jax.Array:
  """Einstein's summation; the order of products is JAX's."""
  del path
  return jnp.einsum(equation, *arrays)


def outer(a: jax.Array, b: jax.Array) -> jax.Array:
  """Each of a vector times each of another."""
  return jnp.outer(a, b)


TABLE = {
  "aten.mm.default": jnp.matmul,
  "aten.bmm.default": jnp.matmul,
  "aten.matmul.default": jnp.matmul,
  "aten.mv.default": jnp.matmul,
  "aten.dot.default": jnp.matmul,
  "aten.outer.default": outer,
  "aten.addmm.default": addmm,
  "aten.baddbmm.default": addmm,
  "aten.linear.default": linear,
  "aten.einsum.default": einsum,
  "aten.scaled_dot_product_attention.default": attention,
}
