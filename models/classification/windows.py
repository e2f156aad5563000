"""Square windows of a map of features, and where tokens of one lie.

For attention inside windows: Swin (arXiv:2103.14030), MaxViT (2204.01697).
"""

from __future__ import annotations

from typing import TypeVar

import jax
import numpy as np

Map = TypeVar("Map", jax.Array, np.ndarray)


def part(x: Map, size: int) -> Map:
  """`[B, H, W, C]` -> `[B, windows, size * size, C]`, both row by row.

  Args:
    x: whose sides are multiples of `size`.
    size: a window's side.
  """
  batch, high, wide, channels = x.shape
  x = x.reshape(batch, high // size, size, wide // size, size, channels)
  return x.swapaxes(2, 3).reshape(batch, -1, size * size, channels)


def join(x: jax.Array, high: int, wide: int) -> jax.Array:
  """`part`'s inverse: `[B, windows, size * size, C]` -> `[B, high, wide, C]`."""
  batch, _, tokens, channels = x.shape
  size = round(tokens**0.5)
  x = x.reshape(batch, high // size, wide // size, size, size, channels)
  return x.swapaxes(2, 3).reshape(batch, high, wide, channels)


def relative_positions(size: int) -> np.ndarray:
  """Which row of a table of offsets belongs to each pair of tokens.

  Args:
    size: a window's side.

  Returns:
    int `[size**2, size**2]`: (dy + size - 1) * (2 * size - 1) + dx + size - 1,
    where (dy, dx) leads from the second token to the first.
  """
  tokens = np.stack(np.divmod(np.arange(size * size), size), axis=-1)
  offsets = tokens[:, None] - tokens[None] + size - 1
  return offsets @ np.array([2 * size - 1, 1])
