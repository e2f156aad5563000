"""Pillow's antialiased resize as sums of whole numbers: one answer everywhere.

A picture is resized in two passes, first across, then down, each rounded to uint8.
A value is the weighted sum of a few neighbours, the taps; weights are made in
float64 and used as whole numbers in 22-bit fixed point, and sums are of 32 bits
(Resample.c), so that any machine gives the same bytes: those of the Pillows that
made the authors' files and every printed accuracy. Pillow 12.2 goes down first in
pictures 100 times as high as wide, 13 wherever that is less work, and so rounds
otherwise: no Pillow resizes what is measured here.

`resized` takes the sums on the host, as products with sparse matrices of whole
numbers, `corruptions/ops/resampling.py` on devices.
"""

from __future__ import annotations

import functools
import math
import threading
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
  import jax

BITS = 22  # of a weight: Resample.c, PRECISION_BITS
_CUBIC = -0.5  # Resample.c, bicubic_filter's a
_HALF = 1 << (BITS - 1)
_AT_ONCE = (
  1 << 17
)  # levels that are summed at once: they stay in a core's cache
_HELD = 1 << 22  # values of an array whose memory a thread keeps
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

  Raises:
    ValueError: the taps are those of a larger picture.
  """
  height, width, *channels = pixels.shape
  rows, columns = _matrix(down), _matrix(across)
  if rows.seen.stop > height or columns.seen.stop > width:
    raise ValueError(f"taps of a larger picture than {width} x {height} px")
  seen = pixels.reshape(height, width, -1)[rows.seen, columns.seen]
  count, depth = len(seen), seen.shape[-1]
  narrow = _space("narrow", (count, columns.height * depth))
  at_once = max(_AT_ONCE // max(seen[:1].size, 1), 1)
  for top in range(0, count, at_once):
    part = seen[top : top + at_once].transpose(1, 2, 0)
    levels = _space("levels", part.shape)
    levels[...] = part
    sums = _sums(columns, levels.reshape(len(part), part[:1].size))
    narrow[top : top + at_once] = sums.reshape(narrow.shape[1], -1).T
  small = _sums(rows, narrow).astype(np.uint8)
  return small.reshape(rows.height, columns.height, *channels)


class _Matrix(NamedTuple):
  """The taps of a pass as a sparse matrix, in rows (CSR).

  Attributes:
    seen: the places that something is made of.
    height: the number of values that are made.
    ends: int32 `[height + 1]`, where each value's weights begin and end.
    places: int32, of each weight, within `seen`.
    weights: int32.
    beyond: whether a sum can be below 0 or above 255.
  """

  seen: slice
  height: int
  ends: np.ndarray
  places: np.ndarray
  weights: np.ndarray
  beyond: bool


def _matrix(taps: Taps) -> _Matrix:
  """Return the matrix of taps; that of usual sizes is kept."""
  first, weights = np.asarray(taps.first), np.asarray(taps.weights)
  return _made_matrix(first.tobytes(), weights.tobytes(), weights.shape[-1])


@functools.lru_cache(maxsize=64)
def _made_matrix(first: bytes, weights: bytes, most: int) -> _Matrix:
  by_value = np.frombuffer(weights, np.int32).reshape(-1, most)
  value, tap = np.nonzero(by_value)
  places = np.frombuffer(first, np.int32)[value] + tap.astype(np.int32)
  start, stop = (places.min(), places.max() + 1) if len(places) else (0, 0)
  ends = np.searchsorted(value, np.arange(len(by_value) + 1)).astype(np.int32)
  largest = 255 * by_value.sum(axis=1, dtype=np.int64) + _HALF >> BITS
  return _Matrix(
    slice(int(start), int(stop)),
    len(by_value),
    ends,
    places - np.int32(start),
    by_value[value, tap],
    bool((by_value < 0).any() or (largest > 255).any()),
  )


def _sums(matrix: _Matrix, levels: np.ndarray) -> np.ndarray:
  """Return the values of a pass along the first axis.

  Args:
    levels: int32 `[places, N]`.

  Returns:
    int32 `[values, N]`, from 0 to 255, in memory of this thread that its next
    call takes again.
  """
  # The public product takes new memory each time, which costs more than the sums.
  from scipy.sparse import _sparsetools

  out = _space("sums", (matrix.height, levels.shape[1]))
  out[...] = _HALF
  _, height, ends, places, weights, beyond = matrix
  size = (height, *levels.shape)
  flat = levels.ravel(), out.ravel()
  _sparsetools.csr_matvecs(*size, ends, places, weights, *flat)
  np.right_shift(out, BITS, out=out)
  return np.clip(out, 0, 255, out=out) if beyond else out


def _space(name: str, shape: tuple[int, ...]) -> np.ndarray:
  """Return an array of this thread, int32, for its next use alone.

  Memory that is given back and taken again costs more than the sums. What is
  large is given back all the same.
  """
  held, size = vars(_held), math.prod(shape)
  if size > _HELD:
    return np.empty(shape, np.int32)
  if name not in held or len(held[name]) < size:
    held[name] = np.empty(size, np.int32)
  return held[name][:size].reshape(shape)


def _triangle(distance: np.ndarray) -> np.ndarray:
  """Compute the weights of Resample.c's bilinear_filter."""
  return np.maximum(1.0 - np.abs(distance), 0.0)


def _cubic(distance: np.ndarray) -> np.ndarray:
  """Compute the weights of Resample.c's bicubic_filter."""
  x, a = np.abs(distance), _CUBIC
  near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1
  far = (((x - 5) * x + 8) * x - 4) * a
  return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))
