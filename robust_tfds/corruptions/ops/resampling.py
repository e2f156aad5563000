"""Pillow's antialiased resize on devices: the sums of `robust_tfds/resizing.py`.

The taps are data: one compilation serves pictures of all sizes in one canvas, and
a crop is a part of the taps.
"""

import jax
import jax.numpy as jnp

from robust_tfds.corruptions.ops import packed
from robust_tfds.resizing import BITS, Taps


def resample(image: jax.Array, down: Taps, across: Taps) -> jax.Array:
  """Resample one picture in both passes, first across.

  Args:
    image: uint8 `[H, W, 3]`, a canvas; taps reach no further than the picture.
    down: `first` int32 `[h]`, `weights` int32 `[h, K]`.
    across: the same of `w` columns.

  Returns:
    uint8 `[h, w * 3]` (`ops/layout.py` says why flat).
  """
  return _down(_across(image, across), down)


def _across(image: jax.Array, across: Taps) -> jax.Array:
  """Resample `[H, W, 3]` to `[H, w * 3]`."""
  words = packed.pack(image)
  first, weights = jnp.asarray(across.first), jnp.asarray(across.weights)
  sums = [_half((image.shape[0], len(first)))] * 3
  for k in range(weights.shape[1]):
    # Behind the last neighbour the weight is 0, whatever the value there.
    index = jnp.minimum(first + k, image.shape[1] - 1)
    levels = packed.channels(packed.columns(words, index))
    sums = [s + weights[:, k] * c for s, c in zip(sums, levels, strict=True)]
  rows = jnp.stack([_rounded(s) for s in sums], axis=-1)
  return rows.reshape(image.shape[0], -1)


def _down(rows: jax.Array, taps: Taps) -> jax.Array:
  """Resample `[H, W * 3]` to `[h, W * 3]`."""
  first, weights = jnp.asarray(taps.first), jnp.asarray(taps.weights)
  total = _half((len(first), rows.shape[1]))
  for k in range(weights.shape[1]):
    index = jnp.minimum(first + k, rows.shape[0] - 1)
    total += weights[:, k, None] * packed.rows(rows, index).astype(jnp.int32)
  return _rounded(total)


def _half(shape: tuple[int, int]) -> jax.Array:
  return jnp.full(shape, 1 << (BITS - 1), jnp.int32)


def _rounded(sums: jax.Array) -> jax.Array:
  return jnp.clip(sums >> BITS, 0, 255).astype(jnp.uint8)
