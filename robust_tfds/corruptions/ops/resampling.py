"""Pillow's antialiased resize, bit for bit, with weights made on the host.

Pillow resizes in two passes, each rounded to uint8. A value is the weighted sum of
a few neighbours, the taps; weights are whole numbers in 22-bit fixed point and
sums are of 32 bits (Pillow's Resample.c), so that any device gives Pillow's bytes.
The taps are data: one compilation serves pictures of all sizes in one canvas, and
a crop is a part of the taps. Facts: Resample.c of Pillow 13.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions.ops import packed

BITS = 22  # of a weight: Resample.c, PRECISION_BITS
_CUBIC = -0.5  # Resample.c, bicubic_filter's a


class Taps(NamedTuple):
  """What each value of one pass is made of.

  Attributes:
    first: int32 `[..., out]`, the first neighbour of each.
    weights: int32 `[..., out, K]`, of it and those that follow; 0 where there
      are fewer than K. A value without weights is 0.
  """

  first: np.ndarray | jax.Array
  weights: np.ndarray | jax.Array

  def part(self, start: int, stop: int) -> Taps:
    """Some of the values; those before the first or behind the last are 0."""
    out = len(self.first)
    margin = (max(-start, 0), max(stop - out, 0))
    first = np.pad(self.first, margin)
    weights = np.pad(self.weights, (margin, (0, 0)))
    return Taps(
      first[start + margin[0] : stop + margin[0]],
      weights[start + margin[0] : stop + margin[0]],
    )

  def after(self, margin: int) -> Taps:
    """The taps of a picture that lies `margin` behind the canvas's start."""
    return Taps(self.first + np.int32(margin), self.weights)


@functools.lru_cache(maxsize=256)
def taps(length: int, out: int, bicubic: bool = False) -> Taps:
  """The taps of one pass, as precompute_coeffs makes them in float64.

  Args:
    length: of the picture, in px.
    out: of the result.
    bicubic: rather than bilinear.

  Returns:
    `first` `[out]`, `weights` `[out, K]`.
  """
  scale = length / out
  stretch = max(scale, 1.0)
  support = (2.0 if bicubic else 1.0) * stretch
  center = (np.arange(out) + 0.5) * scale
  first = np.maximum((center - support + 0.5).astype(np.int64), 0)
  last = np.minimum((center + support + 0.5).astype(np.int64), length)
  near = np.arange((last - first).max())
  at = (near + first[:, None] - center[:, None] + 0.5) * (1.0 / stretch)
  weights = _cubic(at) if bicubic else _triangle(at)
  weights[near >= (last - first)[:, None]] = 0.0
  weights /= np.add.accumulate(weights, axis=1)[:, -1:]  # in Pillow's order
  fixed = weights * (1 << BITS)
  rounded = np.trunc(fixed + np.copysign(0.5, fixed))
  return Taps(first.astype(np.int32), rounded.astype(np.int32))


def stack(rows: list[Taps]) -> Taps:
  """Taps of several pictures as arrays with a leading axis, one K for all.

  K is even, so that similar sizes share a compilation.
  """
  most = max(r.weights.shape[-1] for r in rows)
  most += most % 2
  weights = [
    np.pad(r.weights, ((0, 0), (0, most - r.weights.shape[-1]))) for r in rows
  ]
  return Taps(np.stack([r.first for r in rows]), np.stack(weights))


def down_first(size: tuple[int, int], out: tuple[int, int]) -> bool:
  """Whether Pillow goes down before it goes across.

  Only where the height shrinks by more than twice what the width does
  (Resample.c, ImagingResampleInner): of pictures twice as high as they are wide.

  Args:
    size: (height, width) of the picture.
    out: of the result.
  """
  less = size[0] - out[0]
  return less > 0 and less > 2 * (size[1] - out[1])


def resample(
  image: jax.Array,
  down: Taps,
  across: Taps,
  is_down_first: jax.Array | None = None,
) -> jax.Array:
  """One picture through both passes.

  Args:
    image: uint8 `[H, W, 3]`, a canvas; taps reach no further than the picture.
    down: `first` int32 `[h]`, `weights` int32 `[h, K]`.
    across: the same of `w` columns.
    is_down_first: bool, see `down_first`; None for never.

  Returns:
    uint8 `[h, w * 3]` (`ops/layout.py` says why flat).
  """

  def across_first(image: jax.Array) -> jax.Array:
    return _down(_across(image, across), down)

  def reverse(image: jax.Array) -> jax.Array:
    rows = _down(image.reshape(image.shape[0], -1), down)
    return _across(rows.reshape(len(rows), -1, 3), across)

  if is_down_first is None:
    return across_first(image)
  return jax.lax.cond(is_down_first, reverse, across_first, image)


def _across(image: jax.Array, across: Taps) -> jax.Array:
  """`[H, W, 3]` to `[H, w * 3]`."""
  words = packed.pack(image)
  first, weights = jnp.asarray(across.first), jnp.asarray(across.weights)
  sums = [_half((image.shape[0], len(first)))] * 3
  for k in range(weights.shape[1]):
    # Behind the last neighbour the weight is 0, whatever stands there.
    index = jnp.minimum(first + k, image.shape[1] - 1)
    levels = packed.channels(packed.columns(words, index))
    sums = [s + weights[:, k] * c for s, c in zip(sums, levels, strict=True)]
  rows = jnp.stack([_rounded(s) for s in sums], axis=-1)
  return rows.reshape(image.shape[0], -1)


def _down(rows: jax.Array, taps: Taps) -> jax.Array:
  """`[H, W * 3]` to `[h, W * 3]`."""
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


def _triangle(at: np.ndarray) -> np.ndarray:
  """Resample.c, bilinear_filter."""
  return np.maximum(1.0 - np.abs(at), 0.0)


def _cubic(at: np.ndarray) -> np.ndarray:
  """Resample.c, bicubic_filter."""
  x, a = np.abs(at), _CUBIC
  near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1
  far = (((x - 5) * x + 8) * x - 4) * a
  return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))
