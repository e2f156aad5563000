"""Windows of feature maps of pictures or clips, and the positions of their tokens.

They serve attention inside windows: Swin (arXiv:2103.14030), Video Swin
(2106.13230), MaxViT (2204.01697).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import jax
import numpy as np

Map = TypeVar("Map", jax.Array, np.ndarray)


def part(x: Map, size: Sequence[int]) -> Map:
  """Cut `[B, *sides, C]` into `[B, windows, tokens, C]`, both row by row.

  Args:
    x: a map whose sides are multiples of a window's.
    size: sides of a window, as many as the map has.
  """
  batch, *sides, channels = x.shape
  split = [
    n
    for side, step in zip(sides, size, strict=True)
    for n in (side // step, step)
  ]
  x = x.reshape(batch, *split, channels).transpose(_order(len(size)))
  return x.reshape(batch, -1, math.prod(size), channels)


def join(x: jax.Array, size: Sequence[int], sides: Sequence[int]) -> jax.Array:
  """Join `[B, windows, tokens, C]` to `[B, *sides, C]`: the inverse of `part`."""
  batch, channels = x.shape[0], x.shape[-1]
  counts = [side // step for side, step in zip(sides, size, strict=True)]
  x = x.reshape(batch, *counts, *size, channels)
  return x.transpose(np.argsort(_order(len(size)))).reshape(
    batch, *sides, channels
  )


def relative_positions(size: Sequence[int]) -> np.ndarray:
  """Return the row in a table of offsets for each pair of tokens.

  Args:
    size: sides of a window.

  Returns:
    int `[tokens, tokens]`: offsets from the second token to the first, each
    moved by its side - 1 to start at 0, as the digits of a number to the bases
    2 * side - 1. In a square: (dy + n - 1) * (2 * n - 1) + dx + n - 1.
  """
  tokens = np.stack(np.unravel_index(np.arange(math.prod(size)), size), -1)
  offsets = tokens[:, None] - tokens[None] + np.array(size) - 1
  spans = [2 * side - 1 for side in size]
  return np.ravel_multi_index(tuple(np.moveaxis(offsets, -1, 0)), spans)


def _order(axes: int) -> tuple[int, ...]:
  """Return the axes' order with places of windows before places inside them."""
  return (0, *range(1, 2 * axes, 2), *range(2, 2 * axes + 1, 2), 2 * axes + 1)
