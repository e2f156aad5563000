"""Boxes in fixed shapes: overlap, coding, clipping, non-maximum suppression.

Boxes are float32 `[..., 4]`: x1, y1, x2, y2 in pixels, borders not inclusive.
Coding and suppression follow torchvision's `BoxCoder` and `batched_nms`.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

_LARGEST = math.log(1000 / 16)  # torchvision's clip of predicted log sizes


def area(boxes: jax.Array) -> jax.Array:
  """`[..., 4]` -> `[...]`."""
  return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def iou(one: jax.Array, two: jax.Array) -> jax.Array:
  """`[N, 4]`, `[M, 4]` -> `[N, M]`; 0 where both are empty."""
  low = jnp.maximum(one[:, None, :2], two[None, :, :2])
  high = jnp.minimum(one[:, None, 2:], two[None, :, 2:])
  both = jnp.prod(jnp.maximum(high - low, 0), axis=-1)
  union = area(one)[:, None] + area(two)[None] - both
  return jnp.where(union > 0, both / jnp.where(union > 0, union, 1), 0)


def encode(
  boxes: jax.Array, anchors: jax.Array, weights: tuple[float, ...]
) -> jax.Array:
  """Offsets of boxes from their anchors: (dx, dy, dw, dh), weighted."""
  size, centre = _size(anchors), _centre(anchors)
  shift = (_centre(boxes) - centre) / size
  scale = jnp.log(_size(boxes) / size)
  return jnp.concatenate([shift, scale], -1) * jnp.array(weights)


def decode(
  offsets: jax.Array, anchors: jax.Array, weights: tuple[float, ...]
) -> jax.Array:
  """Boxes from offsets; undoes `encode` up to a size of 62.5 anchors."""
  offsets = offsets / jnp.array(weights)
  size, centre = _size(anchors), _centre(anchors)
  middle = offsets[..., :2] * size + centre
  half = jnp.exp(jnp.minimum(offsets[..., 2:], _LARGEST)) * size * 0.5
  return jnp.concatenate([middle - half, middle + half], -1)


def clip(boxes: jax.Array, size: jax.Array) -> jax.Array:
  """Boxes inside a picture of `size` (height, width)."""
  limit = jnp.stack([size[1], size[0]] * 2).astype(boxes.dtype)
  return jnp.clip(boxes, 0, limit)


def suppress(
  boxes: jax.Array,
  scores: jax.Array,
  classes: jax.Array,
  valid: jax.Array,
  *,
  threshold: float,
  most: int,
) -> tuple[jax.Array, jax.Array]:
  """Non-maximum suppression within classes, of fixed length.

  Args:
    boxes: `[N, 4]`.
    scores: `[N]`.
    classes: int `[N]`; boxes of different classes never suppress each other.
    valid: bool `[N]`.
    threshold: a box goes if its IoU with a better one is above this.
    most: how many are kept.

  Returns:
    Indices int32 `[most]` by decreasing score (equal ones: the first), and which
    of them are valid, bool `[most]`.
  """
  worst = jnp.float32(-jnp.inf)
  scores = jnp.where(valid, scores, worst)

  def visit(
    left: jax.Array, _: None
  ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    best = jnp.argmax(left).astype(jnp.int32)
    is_box = left[best] > worst
    beaten = iou(boxes[best][None], boxes)[0] > threshold
    beaten = (beaten & (classes == classes[best])).at[best].set(True)
    return jnp.where(beaten, worst, left), (best, is_box)

  # As many rounds as boxes are returned: later ones cannot change them.
  _, (index, is_valid) = jax.lax.scan(visit, scores, length=most)
  return index, is_valid


def _size(boxes: jax.Array) -> jax.Array:
  return boxes[..., 2:] - boxes[..., :2]


def _centre(boxes: jax.Array) -> jax.Array:
  return boxes[..., :2] + 0.5 * _size(boxes)
