"""Region proposals (Ren et al. 2015, arXiv:1506.01497) on a pyramid."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.detection import anchors as anchors_lib
from models.detection import boxes as boxes_lib
from models.detection import losses, matching, train_rules
from models.detection.backbone import WIDTH, redraw
from models.detection.losses import Losses
from models.detection.rules import Rules
from models.detection.train_rules import TrainRules
from models.detection.truth import Truth

_SIZES = ((32.0,), (64.0,), (128.0,), (256.0,), (512.0,))  # px, P2..P6
_STRIDES = (4, 8, 16, 32, 64)
_RATIOS = (0.5, 1.0, 2.0)
_BEST = (1000, 1000)  # per level before suppression, per picture after it
_OVERLAP = 0.7
_WEIGHTS = (1.0, 1.0, 1.0, 1.0)
# Logits `[B, A]` and offsets `[B, A, 4]` of a level, float32.
Level = tuple[jax.Array, jax.Array]


class Head(nnx.Module):
  """The head that gives objectness and offsets of every anchor."""

  def __init__(self, width: int, each: int, *, rngs: nnx.Rngs):
    """Create the head for levels of `width` with `each` anchors at a place."""
    self.conv = layers.Stack(
      [
        layers.Stack(
          [layers.conv(width, width, 3, 1, 1, rngs=rngs), layers.relu]
        )
      ]
    )
    self.cls_logits = layers.conv(width, each, 1, rngs=rngs)
    self.bbox_pred = layers.conv(width, each * 4, 1, rngs=rngs)
    for last in (self.cls_logits, self.bbox_pred):
      redraw(last, 0.01, rngs)  # both libraries'

  def __call__(self, levels: Sequence[jax.Array]) -> list[Level]:
    """Return logits and offsets of every level."""
    out = []
    for level in levels:
      y = self.conv(level)
      logits = self.cls_logits(y).reshape(len(level), -1)
      offsets = self.bbox_pred(y).reshape(len(level), -1, 4)
      out.append((logits.astype(jnp.float32), offsets.astype(jnp.float32)))
    return out


class Proposals(nnx.Module):
  """The region proposal network: boxes that may hold objects."""

  def __init__(
    self,
    *,
    rules: Rules,
    width: int = WIDTH,
    sizes: Sequence[Sequence[float]] = _SIZES,
    strides: Sequence[int] = _STRIDES,
    ratios: Sequence[float] = _RATIOS,
    best: tuple[int, int] = _BEST,
    rngs: nnx.Rngs,
  ):
    """Build the network.

    Args:
      rules: rules of a library.
      width: width of the levels.
      sizes: sizes of the levels' anchors, px.
      strides: strides of the levels, px.
      ratios: aspect ratios of anchors.
      best: number of boxes per level before suppression, and per picture after
        it.
      rngs: for the initial weights.
    """
    self.head = Head(width, len(sizes[0]) * len(ratios), rngs=rngs)
    self.rules, self.best = rules, best
    self.sizes = tuple(tuple(level) for level in sizes)
    self.strides, self.ratios = tuple(strides), tuple(ratios)

  def __call__(
    self,
    levels: Sequence[jax.Array],
    canvas: tuple[int, int],
    sizes: jax.Array,
  ) -> tuple[jax.Array, jax.Array]:
    """Return proposals of a batch.

    Args:
      levels: P2..P6 `[B, H, W, 256]`.
      canvas: (height, width) in px.
      sizes: int32 `[B, 2]`, valid (height, width).

    Returns:
      Boxes float32 `[B, 1000, 4]` in px of the canvas by decreasing objectness,
      and which of them are valid, bool `[B, 1000]`.
    """
    each = self.head(levels)
    return self._best(each, self._anchors(levels, canvas), sizes, self.best)

  def losses(
    self,
    levels: Sequence[jax.Array],
    canvas: tuple[int, int],
    truth: Truth,
    train: TrainRules,
    key: jax.Array,
  ) -> tuple[Losses, jax.Array, jax.Array]:
    """Return the losses, and proposals for the heads, without gradient.

    Args:
      levels: as for `__call__`.
      canvas: as for `__call__`.
      truth: objects of the batch.
      train: train rules of a library.
      key: JAX key that chooses anchors.

    Returns:
      The losses, and the result of `__call__`, with the number of boxes of
      `train`.
    """
    each, anchors = self.head(levels), self._anchors(levels, canvas)
    every = np.concatenate(anchors)
    counted = jnp.ones((len(truth.sizes), len(every)), bool)
    if train.inside:
      counted = anchors_lib.inside(every, truth.sizes)
    elif train.padded:
      shapes = [(level.shape[1], level.shape[2]) for level in levels]
      cell = len(self.sizes[0]) * len(self.ratios)
      counted = anchors_lib.inside_padded(
        shapes, self.strides, cell, truth.sizes
      )
    logits, offsets = (jnp.concatenate(part, 1) for part in zip(*each))
    got = learned(
      *(key, logits, offsets, every, counted, truth, _WEIGHTS),
      edge=self.rules.edge,
      train=train,
    )
    fixed = jax.lax.stop_gradient(each)
    best = self._best(fixed, anchors, truth.sizes, train.candidates)
    return got, *best

  def _anchors(
    self, levels: Sequence[jax.Array], canvas: tuple[int, int]
  ) -> list[np.ndarray]:
    """Return the anchors of every level, float32 `[A, 4]`."""
    return [
      anchors_lib.grid(
        canvas,
        [(level.shape[1], level.shape[2])],
        [size],
        self.ratios,
        strides=[stride],
        rules=self.rules,
      )
      for level, size, stride in zip(
        levels, self.sizes, self.strides, strict=True
      )
    ]

  def _best(
    self,
    each: Sequence[Level],
    anchors: Sequence[np.ndarray],
    sizes: jax.Array,
    most: tuple[int, int],
  ) -> tuple[jax.Array, jax.Array]:
    """Return the best proposals; `most` is per level and per picture."""
    scores, boxes, level = [], [], []
    for i, (logits, offsets) in enumerate(each):
      best, index = jax.lax.top_k(logits, min(most[0], logits.shape[1]))
      chosen = jnp.take_along_axis(offsets, index[..., None], axis=1)
      laid = jnp.asarray(anchors[i])[index]
      boxes.append(boxes_lib.decode(chosen, laid, _WEIGHTS, self.rules))
      scores.append(best)
      level.append(np.full(best.shape[1], i, np.int32))
    every = jnp.concatenate(scores, 1), jnp.concatenate(boxes, 1)
    return thinned(*every, jnp.concatenate(level), sizes, self.rules, most[1])


def learned(
  key: jax.Array,
  logits: jax.Array,
  offsets: jax.Array,
  anchors: np.ndarray,
  counted: jax.Array,
  truth: Truth,
  weights: tuple[float, ...],
  *,
  edge: float,
  train: TrainRules,
) -> Losses:
  """Compute the losses on anchors that the key chooses, picture by picture.

  Args:
    key: a JAX key.
    logits: `[B, A]`.
    offsets: `[B, A, 4]`.
    anchors: `[A, 4]`.
    counted: bool `[B, A]`, which anchors count.
    truth: objects of the batch.
    weights: weights of the box coding.
    edge: edge of the boxes.
    train: train rules of a library.
  """

  def choose(
    key: jax.Array, counted: jax.Array, boxes: jax.Array, labels: jax.Array
  ) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    overlap = matching.overlaps(jnp.asarray(anchors), boxes, labels, edge)
    index, label = matching.match(
      jnp.where(counted[:, None], overlap, -1.0),
      labels,
      object_from=train_rules.OBJECT_FROM,
      background_below=train_rules.BACKGROUND_BELOW,
      least=train.least,
      last_wins=train.last_wins,
    )
    label = jnp.where(counted, label, matching.IGNORED)
    place, chosen = matching.sample(
      key, label, count=train.anchors, objects=train.anchors // 2
    )
    expected = boxes_lib.encode(
      boxes[index[place]], jnp.asarray(anchors)[place], weights, edge
    )
    return place, expected, label[place] >= 0, chosen

  keys = jax.random.split(key, len(logits))
  place, expected, is_object, chosen = jax.vmap(choose)(
    keys, counted, truth.boxes, truth.labels
  )
  return losses.proposal_losses(
    jnp.take_along_axis(logits, place, 1),
    jnp.take_along_axis(offsets, place[..., None], 1),
    expected,
    is_object,
    chosen,
    train.betas[0],
  )


def thinned(
  scores: jax.Array,
  boxes: jax.Array,
  level: jax.Array,
  sizes: jax.Array,
  rules: Rules,
  most: int,
) -> tuple[jax.Array, jax.Array]:
  """Return the best boxes, after suppression within levels.

  Args:
    scores: logits `[B, N]`; -inf for padding.
    boxes: `[B, N, 4]`, clipped here.
    level: int32 `[N]`.
    sizes: int32 `[B, 2]`, valid (height, width).
    rules: rules of a library.
    most: most boxes of a picture.

  Returns:
    float32 `[B, most, 4]`, bool `[B, most]`.
  """

  def thin(
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

  return jax.vmap(thin)(scores, boxes, sizes)
