"""Detections from dense scores and offsets, as in RetinaNet.

Each level gives its best candidates above the score threshold, class by class,
or in mmdetection 1.x its anchors of the best class; they are decoded, clipped to
the picture, and thinned by suppression within classes over all levels.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from models.detection import boxes as boxes_lib
from models.detection.rules import RULES, Rules


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
  rules: Rules = RULES["torchvision"],
  edges: jax.Array | None = None,
) -> dict[str, jax.Array]:
  """Return detections of a batch in fixed shapes.

  Args:
    scores: `[B, A, classes]` in [0, 1].
    offsets: `[B, A, 4]`.
    anchors: `[A, 4]`.
    counts: anchors of each level, summing to A.
    sizes: int32 `[B, 2]`, valid (height, width).
    weights: weights of the box coding.
    threshold: scores must be above it.
    overlap: IoU above which the worse of two boxes of a class is dropped.
    candidates: most candidates of a level.
    most: most detections of a picture.
    rules: rules of a library.
    edges: `[B, 2]`, edges of the boxes along x and y in the suppression; None:
      0.

  Returns:
    `boxes` `[B, most, 4]`, `scores` `[B, most]`, `classes` int32 `[B, most]`,
    `valid` bool `[B, most]`, by decreasing score.
  """

  if edges is None:
    edges = jnp.zeros((len(scores), 2))

  def detect(
    scores: jax.Array, offsets: jax.Array, size: jax.Array, edge: jax.Array
  ) -> dict[str, jax.Array]:
    parts, start = [], 0
    for count in counts:
      chosen = slice(start, start + count)
      part = scores[chosen], offsets[chosen], anchors[chosen]
      parts.append(_level(*part, candidates, weights, rules))
      start += count
    boxes, score, label = (jnp.concatenate(p) for p in zip(*parts))
    boxes = boxes_lib.clip(boxes, size, rules.edge)
    real = score > threshold
    index, valid = boxes_lib.suppress(
      *(boxes, score, label, real), threshold=overlap, most=most, edge=edge
    )
    return {
      "boxes": boxes[index],
      "scores": score[index],
      "classes": label[index],
      "valid": valid,
    }

  return jax.vmap(detect)(scores, offsets, sizes, edges)


def _level(
  scores: jax.Array,
  offsets: jax.Array,
  anchors: jax.Array,
  candidates: int,
  weights: tuple[float, ...],
  rules: Rules,
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """Return the best (anchor, class) pairs of a level, decoded."""
  classes = scores.shape[-1]
  if rules.by_anchor:
    most = min(candidates, len(scores))
    _, chosen = jax.lax.top_k(scores.max(axis=-1), most)
    scores, offsets, anchors = scores[chosen], offsets[chosen], anchors[chosen]
    candidates = scores.size
  flat = scores.reshape(-1)
  best, index = jax.lax.top_k(flat, min(candidates, len(flat)))
  place, label = index // classes, index % classes
  boxes = boxes_lib.decode(offsets[place], anchors[place], weights, rules)
  return boxes, best, label.astype(jnp.int32)
