"""Hybrid Task Cascade (Chen et al. 2019, arXiv:1901.07518), as in mmdetection.

A cascade of boxes and masks with three ideas: features of a semantic branch are
added to those of every box; a stage's mask head reads the boxes that the stage
made (at test the last stage's, as in other cascades); and it reads the features
of the stage before it. Sources: mmdetection's HybridTaskCascade, HTCMaskHead,
FusedSemanticHead and configs of HTC.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.detection import (
  backbone,
  losses,
  matching,
  rcnn,
  roi_align,
  roi_heads,
)
from models.detection.backbone import WIDTH
from models.detection.losses import Losses
from models.detection.train_rules import TrainRules
from models.detection.truth import Truth
from models.family import Family, Rules
from models.spec import Variant

_STUFF = 183  # COCO-stuff's classes, whose logits train the semantic branch
_FUSED = 1  # the level to which the others are resampled
_FINEST = 3  # logarithm of its stride
_MULTIPLE = 32  # mmdetection's pictures are padded to it
_UNLABELLED = 255  # the label of unlabelled stuff
_SEMANTIC_WEIGHT = 0.2

# Counted here, without the first stage's unused convolution.
_COUNTS = {"htc_resnext101_64x4d_dconv_fpn_mmdet1": 143_300_372}


def _variants() -> Iterator[tuple[str, Variant]]:
  for generation, spec in rcnn.MMDET.items():
    for body, end in itertools.product(backbone.BODIES, ("", "_dconv")):
      name = f"htc_{body}{end}_fpn_mmdet{generation}"
      counted = dataclasses.replace(spec, parameters=_COUNTS.get(name))
      own = {"body": body + end, "epsilon": 1e-5, "rules": spec.weights}
      yield name, Variant(counted, {**own, "masks": True, "stages": 3})


VARIANTS = dict(_variants())
_OF_BRANCHES: Rules = (
  (
    r"^roi_head\.mask_head\.(\d)\.conv_res\.conv\.",
    r"roi_heads.mask_flow.\1.",
  ),
  (r"^roi_head\.semantic_head\.", "roi_heads.semantic_head."),
  (r"(semantic_head\..*)\.conv\.", r"\1."),
)


class SemanticHead(nnx.Module):
  """The semantic branch: all levels fused, four convolutions, features for boxes."""

  def __init__(self, width: int, *, rngs: nnx.Rngs):
    """Create the branch for five levels of `width`; `conv_logits` is for
    training alone.
    """

    def convs(count: int, kernel: int) -> layers.Stack:
      return layers.Stack(
        [
          layers.conv(width, width, kernel, 1, kernel // 2, rngs=rngs)
          for _ in range(count)
        ]
      )

    self.lateral_convs = convs(5, 1)
    self.convs = convs(4, 3)
    self.conv_embedding = layers.conv(width, width, 1, rngs=rngs)
    self.conv_logits = layers.conv(width, _STUFF, 1, rngs=rngs)

  def __call__(
    self, levels: Sequence[jax.Array], sizes: jax.Array
  ) -> jax.Array:
    """Return the input of `embedding` and `logits`, `[B, H, W, 256]` of stride 8.

    Args:
      levels: P2..P6.
      sizes: int32 `[B, 2]`, valid (height, width).
    """
    padded = -(-sizes // _MULTIPLE) * _MULTIPLE
    _, rows, columns, _ = levels[_FUSED].shape
    parts = []
    for i, level in enumerate(levels):
      if i != _FUSED:
        level = _brought(level, padded, 4 << i, (rows, columns))
      parts.append(layers.relu(getattr(self.lateral_convs, str(i))(level)))
    x = parts.pop(_FUSED)
    for part in parts:
      x = x + part
    for i in range(4):
      x = layers.relu(getattr(self.convs, str(i))(x))
    return x

  def embedding(self, x: jax.Array) -> jax.Array:
    """Compute features for boxes, `[B, H, W, 256]`."""
    return layers.relu(self.conv_embedding(x))

  def logits(self, x: jax.Array) -> jax.Array:
    """Compute logits of stuff, float32 `[B, H, W, 183]`, for training alone."""
    return self.conv_logits(x).astype(jnp.float32)


def _brought(
  level: jax.Array, padded: jax.Array, stride: int, shape: tuple[int, int]
) -> jax.Array:
  """Resample a level at the fused level's places, with aligned corners.

  It is torch's `interpolate(..., align_corners=True)` of each picture as
  mmdetection pads it, whatever the canvas.

  Args:
    level: `[B, H, W, C]`.
    padded: int32 `[B, 2]`, (height, width) in px.
    stride: stride of the level.
    shape: (rows, columns) of the fused level.
  """
  # P6 is every second pixel of P5, from the first on.
  inputs = -(-padded // stride)
  outputs = padded >> _FINEST
  step = (inputs - 1) / jnp.maximum(outputs - 1, 1)

  def between(x: jax.Array, step: jax.Array, count: int) -> jax.Array:
    at = jnp.minimum(jnp.arange(count) * step, len(x) - 1)
    low = jnp.floor(at).astype(jnp.int32)
    part = (at - low).astype(x.dtype)[:, None, None]
    return x[low] * (1 - part) + x[jnp.minimum(low + 1, len(x) - 1)] * part

  def resample(x: jax.Array, step: jax.Array) -> jax.Array:
    rows = between(x, step[0], shape[0])
    return between(rows.swapaxes(0, 1), step[1], shape[1]).swapaxes(0, 1)

  return jax.vmap(resample)(level, step)


class Heads(roi_heads.RoIHeads):
  """The heads of a cascade, with the semantic branch and the flow between masks."""

  def __init__(self, *, width: int = WIDTH, rngs: nnx.Rngs, **options: Any):
    """Create the heads; the options are `RoIHeads`'s."""
    super().__init__(width=width, rngs=rngs, **options)
    self.mask_flow = layers.Stack(
      {
        str(stage): layers.conv(width, width, 1, rngs=rngs)
        for stage in range(1, self.stages)
      }
    )
    self.semantic_head = SemanticHead(width, rngs=rngs)

  def __call__(
    self,
    levels: Sequence[jax.Array],
    proposals: jax.Array,
    valid: jax.Array,
    sizes: jax.Array,
    factor: jax.Array,
  ) -> dict[str, jax.Array]:
    """Return detections like `RoIHeads`; the semantic features travel behind
    the levels.
    """
    semantic = self.semantic_head(levels, sizes)
    levels = [*levels, self.semantic_head.embedding(semantic)]
    return super().__call__(levels, proposals, valid, sizes, factor)

  def losses(
    self,
    levels: Sequence[jax.Array],
    proposals: jax.Array,
    valid: jax.Array,
    canvas: tuple[int, int],
    truth: Truth,
    train: TrainRules,
    key: jax.Array,
  ) -> Losses:
    """Return the losses of `RoIHeads`, and `loss_semantic_seg` if stuff is labelled."""
    semantic = self.semantic_head(levels, truth.sizes)
    levels = [*levels, self.semantic_head.embedding(semantic)]
    given = proposals, valid, canvas, truth, train, key
    every = super().losses(levels, *given)
    if truth.semantic is not None:
      every["loss_semantic_seg"] = _semantic_loss(
        self.semantic_head.logits(semantic), truth
      )
    return every

  def _mask_regions(
    self,
    stage: int,
    chosen: matching.Regions,
    boxes: jax.Array,
    valid: jax.Array,
    truth: Truth,
    train: TrainRules,
    key: jax.Array,
  ) -> matching.Regions:
    """Sample again among the stage's own boxes: interleaved execution."""
    del chosen
    return self._chosen(stage, boxes, valid, truth, train, key)

  def _pool(
    self, levels: Sequence[jax.Array], boxes: jax.Array, bins: int
  ) -> jax.Array:
    features = super()._pool(levels, boxes, bins)
    more = roi_align.pool(
      levels[-1:], boxes, roi_heads.MASK_BINS, finest=_FINEST, **self._align
    )
    part = roi_heads.MASK_BINS // bins
    batch, count, *_, width = more.shape
    more = more.reshape(batch, count, bins, part, bins, part, width)
    return features + more.mean((3, 5))

  def _mask_features(
    self, stage: int, pooled: jax.Array, before: jax.Array
  ) -> jax.Array:
    if stage:
      flow = getattr(self.mask_flow, str(stage))
      pooled = pooled + layers.relu(flow(before))
    return super()._mask_features(stage, pooled, before)


def _semantic_loss(logits: jax.Array, truth: Truth) -> jax.Array:
  """Compute the cross-entropy of the stuff at every place of stride 8, without 255.

  mmdetection resizes the picture's labels to the network's size and then to an
  eighth of it, by nearest pixels both times.
  """
  assert truth.semantic is not None
  rows, columns = logits.shape[1:3]

  def picture_labels(
    stuff: jax.Array, factor: jax.Array, size: jax.Array
  ) -> jax.Array:
    stride = 1 << _FINEST
    y, x = jnp.arange(rows) * stride, jnp.arange(columns) * stride
    inside = (y < size[0])[:, None] & (x < size[1])
    down = jnp.floor(y * factor[1]).astype(jnp.int32)
    across = jnp.floor(x * factor[0]).astype(jnp.int32)
    seen = stuff[
      jnp.minimum(down, len(stuff) - 1)[:, None],
      jnp.minimum(across, stuff.shape[1] - 1),
    ]
    return jnp.where(inside, seen, _UNLABELLED)

  labels = jax.vmap(picture_labels)(truth.semantic, truth.factor, truth.sizes)
  counted = (labels >= 0) & (labels < _STUFF)
  place = jnp.where(counted, labels, 0)[..., None]
  chances = jnp.take_along_axis(jax.nn.log_softmax(logits), place, -1)[..., 0]
  return _SEMANTIC_WEIGHT * losses.mean(-chances, counted)


class Network(rcnn.Network):
  """A cascade of three stages with `Heads`."""

  heads = Heads
  threshold = 0.001


FAMILY = Family(
  Network,
  VARIANTS,
  {
    style: (
      *(rcnn.OLDER if style == "mmdetection1" else ()),
      *_OF_BRANCHES,
      *rcnn.CHECKPOINTS["mmdetection"],
    )
    for style in ("mmdetection", "mmdetection1")
  },
  # It is unused: the first stage has none before it.
  ignored=(r"mask_head\.0\.conv_res\.",),
  exclusive=rcnn.FAMILY.exclusive,
  stages=rcnn.FAMILY.stages,
)
