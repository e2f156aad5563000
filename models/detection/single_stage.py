"""From dense scores and offsets to detections: torchvision's RetinaNet rules.

Each level gives its best candidates above the score threshold, class by class;
they are decoded, clipped to the picture, and thinned by suppression within
classes over all levels.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from robust_tfds.models.detection import boxes as boxes_lib


def detections(
  scores: jax.Array,
  offsets: jax.Array,
  anchors: jax.Array,
  *,
  counts: Sequence[int],
  sizes: jax.Array,
  weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0),
  threshold: float = 0.05,
  overlap: float = 0.5,
  candidates: int = 1000,
  most: int = 300,
) -> dict[str, jax.Array]:
  """Detections of a batch in fixed shapes.

  Args:
    scores: `[B, A, classes]` in [0, 1].
    offsets: `[B, A, 4]`.
    anchors: `[A, 4]`.
    counts: anchors of each level, summing to A.
    sizes: int32 `[B, 2]`, valid (height, width).
    weights: of the box coding.
    threshold: scores must be above it.
    overlap: IoU above which the worse of two boxes of a class goes.
    candidates: most of a level.
    most: most of a picture.

  Returns:
    `boxes` `[B, most, 4]`, `scores` `[B, most]`, `classes` int32 `[B, most]`,
    `valid` bool `[B, most]`, by decreasing score.
  """

  def of_picture(
    scores: jax.Array, offsets: jax.Array, size: jax.Array
  ) -> dict[str, jax.Array]:
    parts, start = [], 0
    for count in counts:
      chosen = slice(start, start + count)
      parts.append(
        _level(
          scores[chosen], offsets[chosen], anchors[chosen], candidates, weights
        )
      )
      start += count
    boxes, score, label = (jnp.concatenate(p) for p in zip(*parts))
    boxes = boxes_lib.clip(boxes, size)
    index, valid = boxes_lib.suppress(
      boxes, score, label, score > threshold, threshold=overlap, most=most
    )
    return {
      "boxes": boxes[index],
      "scores": score[index],
      "classes": label[index],
      "valid": valid,
    }

  return jax.vmap(of_picture)(scores, offsets, sizes)


def _level(
  scores: jax.Array,
  offsets: jax.Array,
  anchors: jax.Array,
  candidates: int,
  weights: tuple[float, ...],
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """The best (anchor, class) pairs of a level, decoded."""
  classes = scores.shape[-1]
  flat = scores.reshape(-1)
  best, index = jax.lax.top_k(flat, min(candidates, len(flat)))
  place, label = index // classes, index % classes
  boxes = boxes_lib.decode(offsets[place], anchors[place], weights)
  return boxes, best, label.astype(jnp.int32)
