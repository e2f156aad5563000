"""RoIAlign over the levels of a pyramid (He et al. 2017, arXiv:1703.06870).

It has torchvision's semantics: a box is cut into bins, each the mean of
bilinear samples on a regular grid; a sample beyond the border by up to a pixel
takes the border's value, further out it is 0. The level of a box follows its
area (arXiv:1612.03144, equation 1).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from models.detection import boxes as boxes_lib

_CANONICAL_PX, _CANONICAL_LEVEL = 224.0, 4
_EPSILON = 1e-6  # torchvision's and mmdetection's guard of the logarithm
_MAX_SAMPLES = 8  # most samples along a bin's side, if its size decides
_CHUNK = 64  # boxes at a time: samples of all at once would not fit


def level_of(
  boxes: jax.Array, levels: int, finest: int = 2, edge: float = 0.0
) -> jax.Array:
  """Return the index of each box's level: float32 `[..., 4]` to int32 `[...]`."""
  side = jnp.sqrt(jnp.maximum(boxes_lib.area(boxes, edge), 0))
  level = jnp.log2(side / _CANONICAL_PX) + _CANONICAL_LEVEL + _EPSILON
  last = finest + levels - 1
  # An empty box has level -inf and goes to the finest.
  return jnp.clip(jnp.floor(level), finest, last).astype(jnp.int32) - finest


def pool(
  features: Sequence[jax.Array],
  boxes: jax.Array,
  bins: int,
  *,
  samples: int = 2,
  aligned: bool = False,
  edge: float = 0.0,
  finest: int = 2,
) -> jax.Array:
  """Pool features of boxes, each from its level.

  Args:
    features: levels `[B, H, W, C]` of strides 2**finest and on, doubling.
    boxes: float32 `[B, N, 4]` in px of the canvas.
    bins: number of bins along a side.
    samples: samples along a bin's side; 0: as many as a bin has pixels, rounded
      up, at most 8 (mmdetection 2.x has no limit; only long thin boxes reach
      it).
    aligned: whether pixel centres lie at half-integers (mmdetection 2.x).
    edge: edge of the boxes; with an edge of 1 (mmdetection 1.x) unaligned boxes
      may be thinner than a pixel of their level, else not.
    finest: logarithm of the first level's stride.

  Returns:
    `[B, N, bins, bins, C]`.
  """
  flat = jnp.concatenate(
    [f.reshape(f.shape[0], -1, f.shape[-1]) for f in features], axis=1
  )
  shapes = jnp.array([f.shape[1:3] for f in features], jnp.int32)
  areas = [f.shape[1] * f.shape[2] for f in features]
  starts = jnp.array([sum(areas[:i]) for i in range(len(areas))], jnp.int32)
  strides = jnp.array([2.0 ** (finest + i) for i in range(len(areas))])
  points = samples or _MAX_SAMPLES

  def pool_box(
    pixels: jax.Array, box: jax.Array, level: jax.Array
  ) -> jax.Array:
    stride, start = strides[level], starts[level]
    height, width = shapes[level, 0], shapes[level, 1]
    axis_of = functools.partial(
      axis,
      stride=stride,
      bins=bins,
      samples=samples,
      most=_MAX_SAMPLES,
      shift=0.5 if aligned else 0.0,
      least=0.0 if aligned or edge else 1.0,
    )
    rows = axis_of(box[1], box[3] + edge, limit=height)
    columns = axis_of(box[0], box[2] + edge, limit=width)
    parts = []
    for row, down in rows:
      for column, across in columns:
        place = start + row[:, None] * width + column[None, :]
        weight = (down[:, None] * across[None, :])[..., None]
        parts.append(pixels[place] * weight.astype(pixels.dtype))
    side = bins, points
    total = functools.reduce(jnp.add, parts)
    return total.reshape(*side, *side, -1).sum((1, 3))

  def pool_picture(pixels: jax.Array, boxes: jax.Array) -> jax.Array:
    levels = level_of(boxes, len(areas), finest, edge)
    return jax.lax.map(
      lambda item: pool_box(pixels, *item), (boxes, levels), batch_size=_CHUNK
    )

  return jax.vmap(pool_picture)(flat, boxes)


def axis(
  low: jax.Array,
  high: jax.Array,
  *,
  stride: jax.Array,
  limit: jax.Array,
  bins: int,
  samples: int,
  most: int,
  shift: float,
  least: float,
) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
  """Return two neighbours of every sample along an axis, with their weights.

  Weights contain the mean over a bin's samples, and are 0 for samples that are
  not needed or lie outside.

  Args:
    low: start of the box in px.
    high: end of the box in px.
    stride: px between features.
    limit: number of features.
    bins: number of bins of the box.
    samples: samples of a bin; 0: as many as it has features, rounded up.
    most: maximum of these.
    shift: 0.5 if features' centres lie at half-integers, else 0.
    least: least size of a box in features.

  Returns:
    Place int32 and weight float32 `[bins samples]` of both neighbours.
  """
  points = samples or most
  start, end = low / stride - shift, high / stride - shift
  length = jnp.maximum(end - start, least)
  step = length / bins
  count = jnp.asarray(samples, jnp.float32)
  if not samples:
    count = jnp.clip(jnp.ceil(step), 1, points)
  sample = jnp.arange(points)
  at = (
    start
    + jnp.arange(bins)[:, None] * step
    + (sample[None] + 0.5) * (step / count)
  ).reshape(-1)
  used = jnp.tile(sample < count, bins)
  inside = used & (at >= -1) & (at <= limit.astype(at.dtype))
  at = jnp.maximum(at, 0)
  first = jnp.minimum(at.astype(jnp.int32), limit - 1)
  second = jnp.minimum(first + 1, limit - 1)
  part = jnp.where(first >= limit - 1, 0.0, at - first)
  share = jnp.where(inside, 1 / count, 0.0)
  return (first, (1 - part) * share), (second, part * share)
