"""Heads on boxes: classes, better boxes, masks, as torchvision's `RoIHeads`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from robust_tfds.models import layers
from robust_tfds.models.detection import boxes as boxes_lib
from robust_tfds.models.detection import labels as labels_lib
from robust_tfds.models.detection import roi_align
from robust_tfds.models.detection.backbone import WIDTH
from robust_tfds.models.detection.rules import Rules

_BINS, MASK_BINS = 7, 14
_HIDDEN = 1024
_POOLED = 4  # levels: the coarsest one is for proposals alone
_OVERLAP = 0.5  # of boxes of a class
# Of the box coding, per stage (arXiv:1712.00726, section 4.3; the first is
# Faster R-CNN's). mmdetection writes their inverses: 0.1, 0.05 and 0.033.
_WEIGHTS = (
  (10.0, 10.0, 5.0, 5.0),
  (20.0, 20.0, 10.0, 10.0),
  (1 / 0.033, 1 / 0.033, 1 / 0.067, 1 / 0.067),
)


class BoxHead(nnx.Module):
  """Two hidden layers."""

  def __init__(self, *, rngs: nnx.Rngs):
    """1024 wide."""
    self.fc6 = layers.linear(WIDTH * _BINS**2, _HIDDEN, rngs=rngs)
    self.fc7 = layers.linear(_HIDDEN, _HIDDEN, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[N, 7, 7, 256]` -> `[N, 1024]`."""
    x = layers.relu(self.fc6(layers.flatten_as_torch(x)))
    return layers.relu(self.fc7(x))


class BoxPredictor(nnx.Module):
  """Logits of classes and offsets of boxes."""

  def __init__(self, outputs: int, boxes: int, *, rngs: nnx.Rngs):
    """`boxes` is how many boxes a proposal gives."""
    self.cls_score = layers.linear(_HIDDEN, outputs, rngs=rngs)
    self.bbox_pred = layers.linear(_HIDDEN, boxes * 4, rngs=rngs)

  def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`[N, 1024]` -> `[N, outputs]` and `[N, boxes, 4]`, float32."""
    offsets = self.bbox_pred(x).reshape(len(x), -1, 4)
    scores = self.cls_score(x)
    return scores.astype(jnp.float32), offsets.astype(jnp.float32)


class Enlarge(nnx.Module):
  """torch.nn.ConvTranspose2d of kernel 2 and stride 2.

  The kernel is `[h, w, outputs, inputs]`: torch writes it with inputs first, the
  other way round than a convolution's.
  """

  def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
    """Twice as many rows and columns."""
    draw = jax.nn.initializers.he_normal(in_axis=-1, out_axis=-2)
    self.kernel = nnx.Param(draw(rngs.params(), (2, 2, outputs, inputs)))
    self.bias = nnx.Param(jnp.zeros(outputs))

  def __call__(self, x: jax.Array) -> jax.Array:
    """`[N, H, W, inputs]` -> `[N, 2 H, 2 W, outputs]`."""
    kernel = self.kernel[...].astype(x.dtype)
    y = jnp.einsum("nhwi,aboi->nhawbo", x, kernel)
    n, h, _, w, _, channels = y.shape
    y = y.reshape(n, 2 * h, 2 * w, channels)
    return y + self.bias[...].astype(x.dtype)


class MaskPredictor(nnx.Module):
  """From features of 14 x 14 to logits of 28 x 28."""

  def __init__(self, outputs: int, *, rngs: nnx.Rngs):
    """A mask for each output."""
    self.conv5_mask = Enlarge(WIDTH, WIDTH, rngs=rngs)
    self.mask_fcn_logits = layers.conv(WIDTH, outputs, 1, rngs=rngs)

  def __call__(self, x: jax.Array, output: jax.Array) -> jax.Array:
    """`[N, 14, 14, 256]`, int32 `[N]` -> logits of these `[N, 28, 28]`."""
    logits = self.mask_fcn_logits(layers.relu(self.conv5_mask(x)))
    chosen = jnp.take_along_axis(logits, output[:, None, None, None], axis=3)
    return chosen[..., 0].astype(jnp.float32)


def _mask_head(rngs: nnx.Rngs) -> layers.Stack:
  return layers.Stack(
    [
      layers.Stack([layers.conv(WIDTH, WIDTH, 3, 1, 1, rngs=rngs), layers.relu])
      for _ in range(4)
    ]
  )


class RoIHeads(nnx.Module):
  """One stage, or a cascade whose stages each start from the last's boxes."""

  def __init__(
    self,
    *,
    labels: tuple[int, ...],
    rules: Rules,
    masks: bool,
    stages: int,
    most: int,
    threshold: float,
    rngs: nnx.Rngs,
  ):
    """Builds them.

    Args:
      labels: class of each output, see `models.detection.labels`.
      rules: of a library.
      masks: whether there is a mask head.
      stages: 1, or 3; a cascade's boxes are the same for all classes.
      most: detections of a picture.
      threshold: scores of detections are above it.
      rngs: for the initial weights.
    """
    outputs = len(labels)
    of_classes = outputs - 1 if rules.of_classes else outputs
    boxes = 1 if stages > 1 else of_classes

    def each(build: Callable[[], nnx.Module]) -> nnx.Module:
      if stages == 1:
        return build()
      return layers.Stack([build() for _ in range(stages)])

    self.box_head = each(lambda: BoxHead(rngs=rngs))
    self.box_predictor = each(lambda: BoxPredictor(outputs, boxes, rngs=rngs))
    if masks:
      self.mask_head = each(lambda: _mask_head(rngs))
      self.mask_predictor = each(lambda: MaskPredictor(of_classes, rngs=rngs))
    self.labels, self.stages, self.most = labels, stages, most
    self.rules, self.masks, self.threshold = rules, masks, threshold

  def __call__(
    self,
    levels: Sequence[jax.Array],
    proposals: jax.Array,
    valid: jax.Array,
    sizes: jax.Array,
    factor: jax.Array,
  ) -> dict[str, jax.Array]:
    """Detections of a batch.

    Args:
      levels: P2..P6 `[B, H, W, 256]`; the coarsest is for proposals alone.
      proposals: float32 `[B, N, 4]` in px of the canvas.
      valid: bool `[B, N]`.
      sizes: int32 `[B, 2]`, valid (height, width).
      factor: see `DetectorNetwork`.

    Returns:
      As `Detector.apply`.
    """
    batch, count = proposals.shape[:2]
    boxes, every = proposals[:, :, None], []
    clip = functools.partial(boxes_lib.clip, edge=self.rules.edge)
    for i in range(self.stages):
      start = boxes[:, :, 0]
      features = self._pool(levels, start, _BINS)
      flat = features.reshape(batch * count, *features.shape[2:])
      hidden = self._part("box_head", i)(flat)
      logits, offsets = self._part("box_predictor", i)(hidden)
      every.append(logits.reshape(batch, count, -1))
      offsets = offsets.reshape(batch, count, -1, 4)
      start = start[:, :, None]
      boxes = boxes_lib.decode(offsets, start, _WEIGHTS[i], self.rules)
      boxes = jax.vmap(clip)(boxes, sizes)
    # Of the mean of the stages' logits, as mmdetection has it, 1.x and 2.x.
    scores = jax.nn.softmax(sum(every[1:], every[0]) / self.stages)
    detections, output = thinned(
      *(boxes, scores, valid, self.rules.edge / factor[:, :2]),
      labels=self.labels,
      smallest_px=self.rules.smallest_px[1],
      threshold=self.threshold,
      overlap=_OVERLAP,
      most=self.most,
    )
    if self.masks:
      detections["masks"] = self._masks(levels, detections["boxes"], output)
    return detections

  def _masks(
    self, levels: Sequence[jax.Array], boxes: jax.Array, output: jax.Array
  ) -> jax.Array:
    """float32 `[B, N, 28, 28]` in [0, 1]; a cascade's are averaged."""
    features = self._pool(levels, boxes, MASK_BINS)
    flat = features.reshape(-1, *features.shape[2:])
    parts: list[jax.Array] = []
    hidden = flat
    for i in range(self.stages):
      hidden = self._mask_features(i, flat, hidden)
      logits = self._part("mask_predictor", i)(hidden, output.reshape(-1))
      parts.append(jax.nn.sigmoid(logits))
    total = functools.reduce(jnp.add, parts)
    return (total / self.stages).reshape(*boxes.shape[:2], *total.shape[1:])

  def _mask_features(
    self, stage: int, pooled: jax.Array, before: jax.Array
  ) -> jax.Array:
    """`[N, 14, 14, 256]` of a stage's mask head; `before`: of the last one's."""
    del before
    features: jax.Array = self._part("mask_head", stage)(pooled)
    return features

  def _pool(
    self, levels: Sequence[jax.Array], boxes: jax.Array, bins: int
  ) -> jax.Array:
    """Features of boxes, `[B, N, bins, bins, 256]`."""
    return roi_align.pool(levels[:_POOLED], boxes, bins, **self._align)

  @property
  def _align(self) -> dict[str, Any]:
    rules = self.rules
    return {
      "samples": rules.samples,
      "aligned": rules.aligned,
      "edge": rules.edge,
    }

  def _part(self, name: str, stage: int) -> Any:
    part = getattr(self, name)
    return part if self.stages == 1 else getattr(part, str(stage))


def thinned(
  boxes: jax.Array,
  scores: jax.Array,
  valid: jax.Array,
  edges: jax.Array,
  *,
  labels: Sequence[int],
  smallest_px: float,
  threshold: float,
  overlap: float,
  most: int,
) -> tuple[dict[str, jax.Array], jax.Array]:
  """Suppression within classes over all proposals' boxes of all classes.

  Args:
    boxes: `[B, N, outputs or 1, 4]`.
    scores: `[B, N, outputs]`.
    valid: bool `[B, N]`, which proposals are some.
    edges: `[B, 2]`, of the boxes along x and y. mmdetection 1.x suppresses in the
      pictures' pixels, where it is one.
    labels: class of each output.
    smallest_px: boxes that are thinner go.
    threshold: scores must be above it.
    overlap: IoU above which the worse of two boxes goes.
    most: detections of a picture.

  Returns:
    As `Detector.apply`, and the output that each detection is of.
  """
  outputs = [i for i, label in enumerate(labels) if label != labels_lib.NONE]
  scores = scores[:, :, jnp.array(outputs)]
  if boxes.shape[2] > 1:
    boxes = boxes[:, :, jnp.array(outputs)]
  boxes = jnp.broadcast_to(boxes, (*scores.shape, 4))
  batch, count, classes = scores.shape
  output = jnp.tile(jnp.array(outputs, jnp.int32), count)
  real = jnp.repeat(valid, classes, axis=1)
  boxes, scores = boxes.reshape(batch, -1, 4), scores.reshape(batch, -1)
  sides = boxes[..., 2:] - boxes[..., :2]
  real &= (scores > threshold) & (sides >= smallest_px).all(-1)

  def of_picture(
    boxes: jax.Array, scores: jax.Array, real: jax.Array, edge: jax.Array
  ) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    every = boxes, scores, output, real
    index, is_valid = boxes_lib.suppress(
      *every, threshold=overlap, most=most, edge=edge
    )
    return boxes[index], scores[index], output[index], is_valid

  boxes, scores, best, is_valid = jax.vmap(of_picture)(
    boxes, scores, real, edges
  )
  detections = {
    "boxes": boxes,
    "scores": scores,
    "classes": jnp.array(labels, jnp.int32)[best],
    "valid": is_valid,
  }
  return detections, best
