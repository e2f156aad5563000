"""Histogram equalisation of few levels, as in cv2.equalizeHist."""

import jax
import jax.numpy as jnp


def equalize(levels: jax.Array, inside: jax.Array, count: int) -> jax.Array:
  """Spread the occurring levels over 0..255.

  Args:
    levels: int32 `[H, W]`, 0..count - 1.
    inside: bool `[H, W]`, the picture.
    count: number of levels, small.

  Returns:
    int32 `[H, W]`; a picture with a single level stays unchanged.
  """
  ones = inside.astype(jnp.int32).reshape(-1)
  histogram = jnp.zeros(count, jnp.int32).at[levels.reshape(-1)].add(ones)
  total = histogram.sum()
  first = jnp.argmax(histogram > 0)
  others = total - histogram[first]
  later = jnp.cumsum(histogram) - histogram[first]
  scale = 255.0 / jnp.maximum(others, 1).astype(jnp.float32)
  spread = jnp.round(later.astype(jnp.float32) * scale).astype(jnp.int32)
  table = jnp.where(jnp.arange(count) > first, spread, 0)
  table = jnp.where(others == 0, jnp.arange(count), table)
  return table[levels]
