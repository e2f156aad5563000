"""Pillow's antialiased resize as sums of whole numbers: one answer everywhere.

A picture is resized in two passes, first across, then down, each rounded to uint8.
A value is the weighted sum of a few neighbours, the taps; weights are made in
float64 and used as whole numbers in 22-bit fixed point, and sums are of 32 bits
(Resample.c), so that any machine gives the same bytes: those of the Pillows that
made the authors' files and every printed accuracy. Pillow 12.2 goes down first in
pictures 100 times as high as wide, 13 wherever that is less work, and so rounds
otherwise: no Pillow resizes what is measured here.

`resized` takes the sums on the host, as products of float32 matrices that are
checked, `corruptions/ops/resampling.py` on devices.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
  import jax

BITS = 22  # of a weight: Resample.c, PRECISION_BITS
_CUBIC = -0.5  # Resample.c, bicubic_filter's a
_CHANNELS = 3  # that one product makes: its matrix is mostly zeros
_VALUES = 12  # of a pass that are made by one product
# Multiplications of one product, at most: of more, OpenBLAS starts threads of its
# own (interface/gemm.c, SMP_THRESHOLD_MIN * GEMM_MULTITHREAD_THRESHOLD).
_AT_ONCE = 1 << 18
_ERROR = 2.0**-24 * 255 * 1.5  # of a sum, for each tap; weights sum up to < 1.5
_held = threading.local()


class Taps(NamedTuple):
  """The weighted pixels that each value of one pass is made of.

  Attributes:
    first: int32 `[..., out]`, the first neighbour of each.
    weights: int32 `[..., out, K]`, of it and those that follow; 0 where there
      are fewer than K. A value without weights is 0.
  """

  first: np.ndarray | jax.Array
  weights: np.ndarray | jax.Array

  def part(self, start: int, stop: int) -> Taps:
    """Return the taps of some values; values outside the result are 0."""
    out = len(self.first)
    if 0 <= start and stop <= out:
      return Taps(self.first[start:stop], self.weights[start:stop])
    margin = (max(-start, 0), max(stop - out, 0))
    first = np.pad(self.first, margin)
    weights = np.pad(self.weights, (margin, (0, 0)))
    return Taps(
      first[start + margin[0] : stop + margin[0]],
      weights[start + margin[0] : stop + margin[0]],
    )

  def after(self, margin: int) -> Taps:
    """Return the taps for a picture that starts `margin` pixels into the canvas."""
    return Taps(self.first + np.int32(margin), self.weights)


@functools.lru_cache(maxsize=256)
def taps(length: int, out: int, bicubic: bool = False) -> Taps:
  """Compute the taps of one pass, as precompute_coeffs does in float64.

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
  """Stack the taps of several pictures on a leading axis, one K for all.

  K is even, so that similar sizes share a compilation.
  """
  most = max(r.weights.shape[-1] for r in rows)
  most += most % 2
  weights = [
    np.pad(r.weights, ((0, 0), (0, most - r.weights.shape[-1]))) for r in rows
  ]
  return Taps(np.stack([r.first for r in rows]), np.stack(weights))


def resized(pixels: np.ndarray, down: Taps, across: Taps) -> np.ndarray:
  """Resize a picture on the host, by both passes.

  Only the rows and columns that something is made of are looked at.

  Args:
    pixels: uint8 `[H, W]` or `[H, W, C]`.
    down: of `h` rows.
    across: of `w` columns.

  Returns:
    uint8 `[h, w]` or `[h, w, C]`.
  """
  height, width, *channels = pixels.shape
  if channels and channels[0] > _CHANNELS:  # frames of a clip, side by side
    parts = range(0, channels[0], _CHANNELS)
    each = [pixels[..., i : i + _CHANNELS] for i in parts]
    return np.concatenate([resized(x, down, across) for x in each], axis=-1)
  first = np.asarray(down.first)[np.asarray(down.weights).any(axis=-1)]
  top = first.min(initial=height)
  bottom = min(first.max(initial=0) + down.weights.shape[-1], height)
  levels = pixels[top:bottom].reshape(max(bottom - top, 0), -1)
  seen = _pass(levels, across, levels.shape[1] // width)
  small = _pass(seen.T, down.after(-top), 1).T
  return np.ascontiguousarray(small).reshape(len(small), -1, *channels)


def _pass(levels: np.ndarray, taps: Taps, channels: int) -> np.ndarray:
  """Take one pass along the second axis: uint8 `[N, L * C]` to `[N, out * C]`.

  The sums are products of small float32 matrices. Their weights and levels are
  exact; where a sum is nearer to a half than float32 may err (K roundings of at
  most 255 times the weights' sum), it is taken in whole numbers.
  """
  starts, blocks = _blocks(
    np.asarray(taps.first).tobytes(),
    np.asarray(taps.weights).tobytes(),
    taps.weights.shape[-1],
    channels,
  )
  at_once = max(_AT_ONCE // blocks[0].size, 1)
  sure = np.float32(0.5 - taps.weights.shape[-1] * _ERROR)
  out = np.empty_like(levels, shape=(len(levels), len(taps.first) * channels))
  for row in range(0, len(levels), at_once):
    part = levels[row : row + at_once]
    sums = _sums(part, out.shape[1], starts, blocks)
    near = np.rint(sums, out=_space("near", sums.shape, part))
    sums -= near
    unsure = np.flatnonzero(np.abs(sums, out=sums).ravel("K") > sure)
    at = np.unravel_index(unsure, sums.shape, _order(part))
    near[at] = _exact(part, taps, channels, *at)
    out[row : row + at_once] = np.clip(near, 0, 255, out=near)
  return out


def _sums(
  levels: np.ndarray, count: int, starts: Sequence[int], blocks: np.ndarray
) -> np.ndarray:
  """Multiply `levels`' columns with the blocks: float32 `[N, count]`."""
  known = _space("known", levels.shape, levels)
  known[...] = levels
  out = _space("sums", (len(levels), count), levels)
  size, wide = blocks.shape[1:]
  for i, start in enumerate(starts):
    from_ = known[:, start : start + size]
    into = out[:, i * wide : (i + 1) * wide]
    np.matmul(from_, blocks[i, : from_.shape[1], : into.shape[1]], out=into)
  return out


def _space(name: str, shape: tuple[int, ...], like: np.ndarray) -> np.ndarray:
  """Return an array of this thread, float32, for its next use alone.

  Memory that is given back and taken again costs more than the sums.
  """
  held, size = vars(_held), math.prod(shape)
  if name not in held or len(held[name]) < size:
    held[name] = np.empty(size, np.float32)
  return held[name][:size].reshape(shape, order=_order(like))


def _order(levels: np.ndarray) -> Literal["C", "F"]:
  """Return how rows and columns lie in memory."""
  return "C" if levels.strides[1] == 1 else "F"


@functools.lru_cache(maxsize=32)
def _blocks(
  first: bytes, weights: bytes, most: int, channels: int
) -> tuple[list[int], np.ndarray]:
  """Return the weights of 12 values at a time as matrices, float32.

  Returns:
    Where each block's neighbours begin, and `[blocks, neighbours * C, 12 * C]`.
  """
  by_value = np.frombuffer(weights, np.int32).reshape(-1, most)
  value, tap = np.nonzero(by_value)
  begin = np.frombuffer(first, np.int32)[value]
  block, of_block = np.divmod(value, _VALUES)
  starts = np.zeros(-(-len(by_value) // _VALUES), np.int64)
  starts[block[::-1]] = begin[::-1]  # the first of each is written last
  place = begin + tap - starts[block]
  size = place.max(initial=0) + 1
  shape = (len(starts), size, channels, _VALUES, channels)
  out = np.zeros(shape, np.float32)
  exact = by_value[value, tap] * np.float32(2.0**-BITS)
  for channel in range(channels):
    out[block, place, channel, of_block, channel] = exact
  matrices = out.reshape(len(starts), size * channels, -1)
  return (starts * channels).tolist(), matrices


def _exact(
  levels: np.ndarray,
  taps: Taps,
  channels: int,
  row: np.ndarray,
  column: np.ndarray,
) -> np.ndarray:
  """Return some values of a pass in whole numbers, not yet held in 0 to 255."""
  value, channel = np.divmod(column, channels)
  last = levels.shape[1] // channels - 1
  sums = np.full(len(row), 1 << (BITS - 1), np.int32)
  for tap in range(taps.weights.shape[-1]):
    place = np.minimum(taps.first[value] + tap, last) * channels + channel
    sums += taps.weights[value, tap] * levels[row, place]
  return sums >> BITS


def _triangle(distance: np.ndarray) -> np.ndarray:
  """Compute the weights of Resample.c's bilinear_filter."""
  return np.maximum(1.0 - np.abs(distance), 0.0)


def _cubic(distance: np.ndarray) -> np.ndarray:
  """Compute the weights of Resample.c's bicubic_filter."""
  x, a = np.abs(distance), _CUBIC
  near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1
  far = (((x - 5) * x + 8) * x - 4) * a
  return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))
