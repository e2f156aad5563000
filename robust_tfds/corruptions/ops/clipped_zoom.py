"""Clipped zoom: the central part of an axis, stretched linearly.

docs/evidence/specs/corruptions.md section 3, zoom_blur and snow (`clipped_zoom`, with
scipy.ndimage.zoom of order 1): the middle ceil(n / z) pixels become
round(ceil(n / z) * z), half to even, with sample i at i * (n_in - 1) /
(n_out - 1). Lengths come from float64 arithmetic on the host, as in the
reference (ceil(n / 1.05) depends on how 1.05 rounds); positions are ratios of
integers and so the same on every device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions.ops import packed

Axis = tuple[jax.Array, jax.Array, jax.Array]


class Lengths(NamedTuple):
  """The lengths of one axis: source pixels, target pixels, and the first source
  pixel.
  """

  source: jax.Array
  target: jax.Array
  start: jax.Array

  def select(self, index: int | jax.Array) -> Lengths:
    """Return the lengths of one of several zooms."""
    return Lengths(self.source[index], self.target[index], self.start[index])

  def from_first(self) -> Lengths:
    """Return the same for an axis that begins with its first zoomed pixel."""
    return self._replace(start=jnp.int32(0))


def longest(canvas: int, zooms: Sequence[float]) -> tuple[int, int]:
  """Return the most source and target pixels of any zoom of <= canvas pixels."""
  table = _table(canvas, tuple(np.ravel(zooms)))
  return int(table[0].max()), int(table[1].max())


def lengths(
  valid: int | jax.Array, canvas: int, zooms: np.ndarray | Sequence[float]
) -> Lengths:
  """Return the lengths for a (possibly traced) side and every zoom.

  Args:
    valid: the picture's side, at most `canvas`.
    canvas: static bound.
    zooms: factors, any shape.

  Returns:
    int32 arrays of the shape of `zooms`.
  """
  shape = np.shape(zooms)
  source, target = _table(canvas, tuple(np.ravel(zooms)))
  source = jnp.asarray(source)[valid].reshape(shape)
  target = jnp.asarray(target)[valid].reshape(shape)
  return Lengths(source, target, (valid - source) // 2)


def positions(lengths: Lengths, count: int, trim: int | jax.Array = 0) -> Axis:
  """Return the positions of output pixels in the picture.

  Args:
    lengths: scalars.
    count: number of output pixels, from `trim` on.
    trim: output pixels left out at the start.

  Returns:
    Lower and upper neighbour, int32 `[count]`, and the upper one's weight,
    float32 `[count]`.
  """
  i = jnp.arange(count, dtype=jnp.int32) + trim
  last, steps = lengths.source - 1, jnp.maximum(lengths.target - 1, 1)
  i = jnp.minimum(i, steps)
  lower = i * last // steps
  rest = i * last - lower * steps
  weight = rest.astype(jnp.float32) / steps.astype(jnp.float32)
  upper = jnp.minimum(lower + 1, last)
  return lower + lengths.start, upper + lengths.start, weight


def resample(
  canvas: jax.Array,
  rows: Axis,
  columns: Axis,
  channels: int = 1,
  total: jax.Array | None = None,
) -> jax.Array:
  """Interpolate linearly on a grid of rows and columns.

  Args:
    canvas: `[H, W * channels]`, channels interleaved.
    rows: neighbours and weights as from `positions`, `[h]`.
    columns: the same, `[w]`.
    channels: values a pixel.
    total: float32 `[h, w * channels]` to add the result to.

  Returns:
    float32 `[h, w * channels]`.
  """
  above, below, down = rows
  upper = packed.rows(canvas, above).astype(jnp.float32)
  lower = packed.rows(canvas, below).astype(jnp.float32)
  middle = upper + down[:, None] * (lower - upper)
  left, right, across = columns
  near = _interleaved(jnp.stack([left, right]), channels)
  weights = jnp.repeat(jnp.stack([1.0 - across, across]), channels, axis=1)
  if total is None:
    total = jnp.zeros((above.shape[0], near.shape[1]), jnp.float32)

  # A loop, not a sum: XLA would recompute `middle` in each of the two gathers.
  def add(k: jax.Array, total: jax.Array) -> jax.Array:
    return total + weights[k] * packed.columns(middle, near[k])

  return jax.lax.fori_loop(0, 2, add, total)


def _interleaved(index: jax.Array, channels: int) -> jax.Array:
  wide = index[..., None] * channels + jnp.arange(channels)
  return wide.reshape(*index.shape[:-1], -1)


def _table(canvas: int, zooms: tuple[float, ...]) -> np.ndarray:
  """Return (source, target) for all sides up to the canvas: int32 `[2, n + 1,
  zooms]`.
  """
  sides = np.arange(canvas + 1)[:, None]
  source = np.ceil(sides / np.array(zooms, np.float64))
  target = np.round(source * np.array(zooms, np.float64))
  return np.stack([source, target]).astype(np.int32)
