"""Boxes in fixed shapes: overlap, coding, clipping, non-maximum suppression.

Boxes are float32 `[..., 4]`: x1, y1, x2, y2 in pixels. They end `edge` px
beyond x2 and y2: 0 if these are borders, 1 if they belong to a box's last pixel
(`models.detection.rules`). Coding and suppression follow torchvision's
`BoxCoder` and `batched_nms`, and with an edge of 1 those of mmdetection 1.x.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from models.detection.rules import RULES, Rules

# An edge in px, or (width, height) if the axes have other units.
Edge = float | jax.Array


def area(boxes: jax.Array, edge: Edge = 0.0) -> jax.Array:
  """Compute areas: `[..., 4]` to `[...]`."""
  return jnp.prod(_size(boxes, edge), axis=-1)


def iou(first: jax.Array, second: jax.Array, edge: Edge = 0.0) -> jax.Array:
  """Compute IoU: `[N, 4]` and `[M, 4]` to `[N, M]`; 0 where both are empty."""
  low = jnp.maximum(first[:, None, :2], second[None, :, :2])
  high = jnp.minimum(first[:, None, 2:], second[None, :, 2:])
  both = jnp.prod(jnp.maximum(high - low + edge, 0), axis=-1)
  union = area(first, edge)[:, None] + area(second, edge)[None] - both
  return jnp.where(union > 0, both / jnp.where(union > 0, union, 1), 0)


def encode(
  boxes: jax.Array,
  anchors: jax.Array,
  weights: tuple[float, ...],
  edge: Edge = 0.0,
) -> jax.Array:
  """Encode boxes as weighted offsets (dx, dy, dw, dh) from their anchors."""
  size, centre = _size(anchors, edge), _centre(anchors)
  shift = (_centre(boxes) - centre) / size
  scale = jnp.log(_size(boxes, edge) / size)
  return jnp.concatenate([shift, scale], -1) * jnp.array(weights)


def decode(
  offsets: jax.Array,
  anchors: jax.Array,
  weights: tuple[float, ...],
  rules: Rules = RULES["torchvision"],
) -> jax.Array:
  """Decode boxes from offsets; undoes `encode` up to the rules' limits of sizes."""
  offsets = offsets / jnp.array(weights)
  size, centre = _size(anchors, rules.edge), _centre(anchors)
  middle = offsets[..., :2] * size + centre
  logs = jnp.clip(offsets[..., 2:], *rules.log_limits)
  half = jnp.exp(logs) * size * 0.5 - 0.5 * rules.edge
  return jnp.concatenate([middle - half, middle + half], -1)


def clip(boxes: jax.Array, size: jax.Array, edge: Edge = 0.0) -> jax.Array:
  """Clip boxes to a picture of `size` (height, width)."""
  limit = jnp.stack([size[1], size[0]] * 2).astype(boxes.dtype)
  return jnp.clip(boxes, 0, limit - edge)


def suppress(
  boxes: jax.Array,
  scores: jax.Array,
  classes: jax.Array,
  valid: jax.Array,
  *,
  threshold: float,
  most: int,
  edge: Edge = 0.0,
) -> tuple[jax.Array, jax.Array]:
  """Suppress non-maximum boxes within classes, with a result of fixed length.

  Args:
    boxes: `[N, 4]`.
    scores: `[N]`.
    classes: int `[N]`; boxes of different classes never suppress each other.
    valid: bool `[N]`.
    threshold: a box is removed if its IoU with a better one is above this.
    most: number of boxes to keep.
    edge: edge of the boxes.

  Returns:
    Indices int32 `[most]` by decreasing score (the first among equals), and
    which of them are valid, bool `[most]`.
  """
  worst = jnp.float32(-jnp.inf)
  scores = jnp.where(valid, scores, worst)

  def visit(
    left: jax.Array, _: None
  ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    best = jnp.argmax(left).astype(jnp.int32)
    is_box = left[best] > worst
    beaten = iou(boxes[best][None], boxes, edge)[0] > threshold
    beaten = (beaten & (classes == classes[best])).at[best].set(True)
    return jnp.where(beaten, worst, left), (best, is_box)

  # As many rounds as boxes are returned: later ones cannot change them.
  _, (index, is_valid) = jax.lax.scan(visit, scores, length=most)
  return index, is_valid


def _size(boxes: jax.Array, edge: Edge = 0.0) -> jax.Array:
  return boxes[..., 2:] - boxes[..., :2] + edge


def _centre(boxes: jax.Array) -> jax.Array:
  return boxes[..., :2] + 0.5 * _size(boxes)
