"""Pillow's antialiased resize as sums of whole numbers: one answer everywhere.

A picture is resized in two passes, first across, then down, each rounded to uint8.
A value is the weighted sum of a few neighbours, the taps; weights are made in
float64 and used as whole numbers in 22-bit fixed point, and sums are of 32 bits
(Resample.c), so that any machine gives the same bytes: those of the Pillows that
made the authors' files and every printed accuracy. Pillow 12.2 goes down first in
pictures 100 times as high as wide, 13 wherever that is less work, and so rounds
otherwise: no Pillow resizes what is measured here.

`resized` takes the sums on the host, `corruptions/ops/resampling.py` on devices.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
  import jax

BITS = 22  # of a weight: Resample.c, PRECISION_BITS
_CUBIC = -0.5  # Resample.c, bicubic_filter's a
_ROWS = 32  # that are taken across at a time: their sums stay in the cache


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
    """Return the taps of some values; values outside the result are 0."""
    out = len(self.first)
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

  Args:
    pixels: uint8 `[H, W]` or `[H, W, C]`.
    down: of `h` rows.
    across: of `w` columns.

  Returns:
    uint8 `[h, w]` or `[h, w, C]`.
  """
  height, width = pixels.shape[:2]
  levels = pixels.reshape(height, width, -1)
  columns, rows = _matrix(across, width), _matrix(down, height)
  out = np.zeros((height, columns.shape[0], levels.shape[2]), np.int32)
  top, bottom = rows.indices.min(), rows.indices.max() + 1
  for start in range(top, bottom, _ROWS):
    part = levels[start : min(start + _ROWS, bottom)].transpose(1, 0, 2)
    sums = _sums(columns, part.astype(np.int32, order="C"))
    out[start : start + part.shape[1]] = sums.transpose(1, 0, 2)
  small = _sums(rows, out).astype(np.uint8)
  return small.reshape(*small.shape[:2], *pixels.shape[2:])


def _matrix(taps: Taps, length: int) -> Any:
  """Return the taps of one pass as a sparse matrix, int32 `[out, length]`."""
  from scipy import sparse

  weights = np.asarray(taps.weights)
  row, tap = np.nonzero(weights)
  place = np.asarray(taps.first)[row] + tap
  starts = np.searchsorted(row, np.arange(len(weights) + 1))
  shape = (len(weights), length)
  return sparse.csr_matrix((weights[row, tap], place, starts), shape)


def _sums(matrix: Any, levels: np.ndarray) -> np.ndarray:
  """Compute one pass along the first axis, rounded: int32 `[out, ...]`."""
  sums = matrix @ levels.reshape(len(levels), -1)
  sums += 1 << (BITS - 1)
  sums >>= BITS
  np.clip(sums, 0, 255, out=sums)
  return sums.reshape(-1, *levels.shape[1:])


def _triangle(distance: np.ndarray) -> np.ndarray:
  """Compute the weights of Resample.c's bilinear_filter."""
  return np.maximum(1.0 - np.abs(distance), 0.0)


def _cubic(distance: np.ndarray) -> np.ndarray:
  """Compute the weights of Resample.c's bicubic_filter."""
  x, a = np.abs(distance), _CUBIC
  near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1
  far = (((x - 5) * x + 8) * x - 4) * a
  return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))
