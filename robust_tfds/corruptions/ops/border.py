"""Borders of the picture, not of the canvas: index maps for padding.

Plugins pad by gathering rows and columns, which is a copy of whole rows on
every backend and works for a traced valid size.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def reflect101(index: jax.Array, valid: int | jax.Array) -> jax.Array:
  """Maps any integer positions into 0..valid-1 by mirroring at pixel centres.

  OpenCV's BORDER_REFLECT_101: `c b | a b c d | c b`. Far positions mirror as
  often as it takes; a single pixel repeats.
  """
  last = jnp.asarray(valid - 1, index.dtype)
  period = jnp.maximum(2 * last, 1)
  return jnp.where(last == 0, 0, last - jnp.abs(index % period - last))


def reflect(index: jax.Array, valid: int | jax.Array) -> jax.Array:
  """As `reflect101`, mirrored at the pixels' outer edges: `b a | a b c d | d`."""
  valid = jnp.asarray(valid, index.dtype)
  folded = index % (2 * valid)
  return jnp.minimum(folded, 2 * valid - 1 - folded)


def nearest(index: jax.Array, valid: int | jax.Array) -> jax.Array:
  """Maps positions outside to the nearest valid one: `a a | a b c d | d d`."""
  return jnp.clip(index, 0, jnp.asarray(valid - 1, index.dtype))
