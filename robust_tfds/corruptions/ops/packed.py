"""RGB pixels packed in 32-bit words: one gather serves three channels."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def pack(image: jax.Array) -> jax.Array:
  """uint8 `[..., 3]` as uint32 `[...]`: red in the low byte."""
  wide = jnp.pad(image, [(0, 0)] * (image.ndim - 1) + [(0, 1)])
  return jax.lax.bitcast_convert_type(wide, jnp.uint32)


def channels(words: jax.Array) -> list[jax.Array]:
  """The three channels of packed words, int32, not stacked."""
  return [((words >> (8 * c)) & 0xFF).astype(jnp.int32) for c in range(3)]


def columns(words: jax.Array, index: jax.Array) -> jax.Array:
  """`words[:, index]` for an index known to lie inside."""
  return jnp.asarray(words).at[:, index].get(mode="promise_in_bounds")


def rows(words: jax.Array, index: jax.Array) -> jax.Array:
  """`words[index]` for an index known to lie inside."""
  return jnp.asarray(words).at[index].get(mode="promise_in_bounds")


def bytes_of(words: jax.Array) -> jax.Array:
  """uint8 `[H, W * 3]` of packed words `[H, W]`."""
  wide = jax.lax.bitcast_convert_type(words, jnp.uint8)
  return wide[..., :3].reshape(words.shape[0], -1)
