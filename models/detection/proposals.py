"""Region proposals (Ren et al. 2015, arXiv:1506.01497), as torchvision's RPN."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.detection import anchors as anchors_lib
from robust_tfds.models.detection import boxes as boxes_lib
from robust_tfds.models.detection.backbone import WIDTH

_SIZES = ((32.0,), (64.0,), (128.0,), (256.0,), (512.0,))  # px, P2..P6
_STRIDES = (4, 8, 16, 32, 64)
_RATIOS = (0.5, 1.0, 2.0)
_CANDIDATES = 1000  # of a level, before suppression
_KEPT = 1000  # of a picture
_OVERLAP = 0.7
_SMALLEST_PX = 1e-3  # torchvision drops what is thinner
_WEIGHTS = (1.0, 1.0, 1.0, 1.0)


class Head(nnx.Module):
  """Objectness and offsets of every anchor."""

  def __init__(self, *, rngs: nnx.Rngs):
    """Three anchors a place."""
    each = len(_RATIOS)
    self.conv = layers.Stack(
      [
        layers.Stack(
          [layers.conv(WIDTH, WIDTH, 3, 1, 1, rngs=rngs), layers.relu]
        )
      ]
    )
    self.cls_logits = layers.conv(WIDTH, each, 1, rngs=rngs)
    self.bbox_pred = layers.conv(WIDTH, each * 4, 1, rngs=rngs)

  def __call__(
    self, levels: Sequence[jax.Array]
  ) -> list[tuple[jax.Array, jax.Array]]:
    """Per level: logits `[B, A]` and offsets `[B, A, 4]`, float32."""
    out = []
    for level in levels:
      y = self.conv(level)
      logits = self.cls_logits(y).reshape(len(level), -1)
      offsets = self.bbox_pred(y).reshape(len(level), -1, 4)
      out.append((logits.astype(jnp.float32), offsets.astype(jnp.float32)))
    return out


class Proposals(nnx.Module):
  """Boxes where something may be."""

  def __init__(self, *, mmdet: bool, rngs: nnx.Rngs):
    """`mmdet`: mmdetection's anchors, not rounded, of fixed strides."""
    self.head = Head(rngs=rngs)
    self.mmdet = mmdet

  def __call__(
    self,
    levels: Sequence[jax.Array],
    canvas: tuple[int, int],
    sizes: jax.Array,
  ) -> tuple[jax.Array, jax.Array]:
    """Proposals of a batch.

    Args:
      levels: P2..P6 `[B, H, W, 256]`.
      canvas: (height, width) in px.
      sizes: int32 `[B, 2]`, valid (height, width).

    Returns:
      float32 `[B, 1000, 4]` in px of the canvas by decreasing objectness, and
      which are valid, bool `[B, 1000]`.
    """
    scores, boxes, level = [], [], []
    for i, (logits, offsets) in enumerate(self.head(levels)):
      height, width = levels[i].shape[1:3]
      strides = [_STRIDES[i]] if self.mmdet else None
      anchors = jnp.asarray(
        anchors_lib.grid(
          canvas, [(height, width)], [_SIZES[i]], _RATIOS, strides=strides
        )
      )
      best, index = jax.lax.top_k(logits, min(_CANDIDATES, logits.shape[1]))
      chosen = jnp.take_along_axis(offsets, index[..., None], axis=1)
      boxes.append(boxes_lib.decode(chosen, anchors[index], _WEIGHTS))
      scores.append(best)
      level.append(np.full(best.shape[1], i, np.int32))
    return jax.vmap(_thinned, (0, 0, None, 0))(
      jnp.concatenate(scores, 1),
      jnp.concatenate(boxes, 1),
      jnp.concatenate(level),
      sizes,
    )


def _thinned(
  scores: jax.Array, boxes: jax.Array, level: jax.Array, size: jax.Array
) -> tuple[jax.Array, jax.Array]:
  boxes = boxes_lib.clip(boxes, size)
  sides = boxes[:, 2:] - boxes[:, :2]
  index, valid = boxes_lib.suppress(
    boxes,
    # torchvision ranks by probability, where rounding makes ties.
    jax.nn.sigmoid(scores),
    level,
    (sides >= _SMALLEST_PX).all(axis=1),
    threshold=_OVERLAP,
    most=_KEPT,
  )
  return boxes[index], valid
