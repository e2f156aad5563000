"""Region proposals (Ren et al. 2015, arXiv:1506.01497) of a pyramid."""

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
from robust_tfds.models.detection.rules import Rules

_SIZES = ((32.0,), (64.0,), (128.0,), (256.0,), (512.0,))  # px, P2..P6
_STRIDES = (4, 8, 16, 32, 64)
_RATIOS = (0.5, 1.0, 2.0)
_CANDIDATES = 1000  # of a level, before suppression
_KEPT = 1000  # of a picture
_OVERLAP = 0.7
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

  def __init__(self, *, rules: Rules, rngs: nnx.Rngs):
    """`rules`: of a library."""
    self.head = Head(rngs=rngs)
    self.rules = rules

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
      level_of = [(height, width)], [_SIZES[i]], _RATIOS
      anchors = jnp.asarray(
        anchors_lib.grid(
          canvas, *level_of, strides=[_STRIDES[i]], rules=self.rules
        )
      )
      best, index = jax.lax.top_k(logits, min(_CANDIDATES, logits.shape[1]))
      chosen = jnp.take_along_axis(offsets, index[..., None], axis=1)
      decoded = boxes_lib.decode(chosen, anchors[index], _WEIGHTS, self.rules)
      boxes.append(decoded)
      scores.append(best)
      level.append(np.full(best.shape[1], i, np.int32))
    every = jnp.concatenate(scores, 1), jnp.concatenate(boxes, 1)
    return thinned(*every, jnp.concatenate(level), sizes, self.rules, _KEPT)


def thinned(
  scores: jax.Array,
  boxes: jax.Array,
  level: jax.Array,
  sizes: jax.Array,
  rules: Rules,
  most: int,
) -> tuple[jax.Array, jax.Array]:
  """The best boxes, after suppression within levels.

  Args:
    scores: logits `[B, N]`; -inf of what is no box.
    boxes: `[B, N, 4]`, clipped here.
    level: int32 `[N]`.
    sizes: int32 `[B, 2]`, valid (height, width).
    rules: of a library.
    most: of a picture.

  Returns:
    float32 `[B, most, 4]`, bool `[B, most]`.
  """

  def of_picture(
    scores: jax.Array, boxes: jax.Array, size: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    boxes = boxes_lib.clip(boxes, size, rules.edge)
    sides = boxes[:, 2:] - boxes[:, :2]
    index, valid = boxes_lib.suppress(
      boxes,
      # torchvision ranks by probability, where rounding makes ties.
      jax.nn.sigmoid(scores),
      level,
      (sides >= rules.smallest_px[0]).all(axis=1) & (scores > -jnp.inf),
      threshold=_OVERLAP,
      most=most,
      edge=rules.edge,
    )
    return boxes[index], valid

  return jax.vmap(of_picture)(scores, boxes, sizes)
