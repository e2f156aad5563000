"""Heads on boxes: classes, better boxes and masks, as in torchvision's `RoIHeads`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from models import layers
from models.detection import boxes as boxes_lib
from models.detection import labels as labels_lib
from models.detection import (
  losses,
  mask_targets,
  matching,
  roi_align,
  train_rules,
)
from models.detection.backbone import WIDTH, redraw
from models.detection.losses import Losses
from models.detection.rules import Rules
from models.detection.train_rules import TrainRules
from models.detection.truth import Truth

_BINS, MASK_BINS = 7, 14
_HIDDEN = 1024
_FOURTH = 4  # one region in four that heads learn from is an object
_POOLED = 4  # levels: the coarsest one is for proposals alone
_OVERLAP = 0.5  # IoU of boxes of a class
# Weights of the box coding, per stage (arXiv:1712.00726, section 4.3; the first
# is Faster R-CNN's). mmdetection writes their inverses: 0.1, 0.05 and 0.033.
_WEIGHTS = (
  (10.0, 10.0, 5.0, 5.0),
  (20.0, 20.0, 10.0, 10.0),
  (1 / 0.033, 1 / 0.033, 1 / 0.067, 1 / 0.067),
)


class BoxHead(nnx.Module):
  """A box head of two hidden layers."""

  def __init__(self, width: int, hidden: int, *, rngs: nnx.Rngs):
    """Create the head for features of `width`, with `hidden` units."""
    self.fc6 = layers.linear(width * _BINS**2, hidden, rngs=rngs)
    self.fc7 = layers.linear(hidden, hidden, rngs=rngs)

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[N, 7, 7, width]` to `[N, hidden]`."""
    x = layers.relu(self.fc6(layers.flatten_as_torch(x)))
    return layers.relu(self.fc7(x))


class BoxPredictor(nnx.Module):
  """The last layers of a box head: logits of classes and offsets of boxes."""

  def __init__(self, hidden: int, outputs: int, boxes: int, *, rngs: nnx.Rngs):
    """Create the layers; `boxes` is the number of boxes per proposal."""
    self.cls_score = layers.linear(hidden, outputs, rngs=rngs)
    self.bbox_pred = layers.linear(hidden, boxes * 4, rngs=rngs)
    redraw(self.cls_score, 0.01, rngs)  # mmdetection's
    redraw(self.bbox_pred, 0.001, rngs)

  def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Map `[N, hidden]` to `[N, outputs]` and `[N, boxes, 4]`, float32."""
    offsets = self.bbox_pred(x).reshape(len(x), -1, 4)
    scores = self.cls_score(x)
    return scores.astype(jnp.float32), offsets.astype(jnp.float32)


class Enlarge(nnx.Module):
  """A `torch.nn.ConvTranspose2d` of kernel 2 and stride 2.

  The kernel is `[h, w, outputs, inputs]`: torch writes it with inputs first,
  unlike that of a convolution.
  """

  def __init__(self, inputs: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the layer, which doubles rows and columns."""
    draw = jax.nn.initializers.he_normal(in_axis=-1, out_axis=-2)
    self.kernel = nnx.Param(draw(rngs.params(), (2, 2, outputs, inputs)))
    self.bias = nnx.Param(jnp.zeros(outputs))

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[N, H, W, inputs]` to `[N, 2 H, 2 W, outputs]`."""
    kernel = self.kernel[...].astype(x.dtype)
    y = jnp.einsum("nhwi,aboi->nhawbo", x, kernel)
    n, h, _, w, _, channels = y.shape
    y = y.reshape(n, 2 * h, 2 * w, channels)
    return y + self.bias[...].astype(x.dtype)


class MaskPredictor(nnx.Module):
  """The last layers of a mask head: from 14 x 14 features to logits of 28 x 28."""

  def __init__(self, width: int, outputs: int, *, rngs: nnx.Rngs):
    """Create the layers, with one mask per output."""
    self.conv5_mask = Enlarge(width, width, rngs=rngs)
    self.mask_fcn_logits = layers.conv(width, outputs, 1, rngs=rngs)

  def __call__(self, x: jax.Array, output: jax.Array) -> jax.Array:
    """Map `[N, 14, 14, width]` to logits `[N, 28, 28]` of the outputs int32 `[N]`."""
    logits = self.mask_fcn_logits(layers.relu(self.conv5_mask(x)))
    chosen = jnp.take_along_axis(logits, output[:, None, None, None], axis=3)
    return chosen[..., 0].astype(jnp.float32)


def _mask_head(width: int, rngs: nnx.Rngs) -> layers.Stack:
  return layers.Stack(
    [
      layers.Stack([layers.conv(width, width, 3, 1, 1, rngs=rngs), layers.relu])
      for _ in range(4)
    ]
  )


class RoIHeads(nnx.Module):
  """The heads of one stage, or of a cascade whose stages start from the last
  one's boxes.
  """

  def __init__(
    self,
    *,
    labels: tuple[int, ...],
    rules: Rules,
    masks: bool,
    stages: int,
    most: int,
    threshold: float,
    width: int = WIDTH,
    hidden: int = _HIDDEN,
    finest: int = 2,
    rngs: nnx.Rngs,
  ):
    """Build the heads.

    Args:
      labels: class of each output, see `models.detection.labels`.
      rules: rules of a library.
      masks: whether there is a mask head.
      stages: 1, or 3; a cascade's boxes are the same for all classes.
      most: most detections of a picture.
      threshold: minimum score of detections.
      width: width of the levels.
      hidden: width of the box head's layers.
      finest: logarithm of the first level's stride.
      rngs: for the initial weights.
    """
    outputs = len(labels)
    of_classes = outputs - 1 if rules.of_classes else outputs
    boxes = 1 if stages > 1 else of_classes

    def each(build: Callable[[], nnx.Module]) -> nnx.Module:
      if stages == 1:
        return build()
      return layers.Stack([build() for _ in range(stages)])

    self.box_head = each(lambda: BoxHead(width, hidden, rngs=rngs))
    self.box_predictor = each(
      lambda: BoxPredictor(hidden, outputs, boxes, rngs=rngs)
    )
    if masks:
      self.mask_head = each(lambda: _mask_head(width, rngs))
      self.mask_predictor = each(
        lambda: MaskPredictor(width, of_classes, rngs=rngs)
      )
    self.labels, self.stages, self.most = labels, stages, most
    self.rules, self.masks, self.threshold = rules, masks, threshold
    self.finest = finest

  def __call__(
    self,
    levels: Sequence[jax.Array],
    proposals: jax.Array,
    valid: jax.Array,
    sizes: jax.Array,
    factor: jax.Array,
  ) -> dict[str, jax.Array]:
    """Return detections of a batch.

    Args:
      levels: P2..P6 `[B, H, W, 256]`; the coarsest is used for proposals alone.
      proposals: float32 `[B, N, 4]` in px of the canvas.
      valid: bool `[B, N]`.
      sizes: int32 `[B, 2]`, valid (height, width).
      factor: see `DetectorNetwork`.

    Returns:
      The detections as from `Detector.apply`.
    """
    boxes, every = proposals[:, :, None], []
    for i in range(self.stages):
      start = boxes[:, :, 0]
      logits, offsets = self._boxes(i, levels, start)
      every.append(logits)
      boxes = self._moved(i, start, offsets, sizes)
    # From the mean of the stages' logits, as in mmdetection 1.x and 2.x.
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

  def _boxes(
    self, stage: int, levels: Sequence[jax.Array], boxes: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    """Return logits `[B, N, outputs]` and offsets `[B, N, boxes, 4]` of a stage."""
    batch, count = boxes.shape[:2]
    features = self._pool(levels, boxes, _BINS)
    flat = features.reshape(batch * count, *features.shape[2:])
    hidden = self._part("box_head", stage)(flat)
    logits, offsets = self._part("box_predictor", stage)(hidden)
    shape = batch, count, -1
    return logits.reshape(*shape), offsets.reshape(*shape, 4)

  def _moved(
    self, stage: int, boxes: jax.Array, offsets: jax.Array, sizes: jax.Array
  ) -> jax.Array:
    """Move boxes `[B, N, 4]` by offsets `[B, N, boxes, 4]`, inside the pictures."""
    clip = functools.partial(boxes_lib.clip, edge=self.rules.edge)
    moved = (offsets, boxes[:, :, None], _WEIGHTS[stage], self.rules)
    return jax.vmap(clip)(boxes_lib.decode(*moved), sizes)

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
    """Return the losses of all stages, whose sum is the loss.

    A cascade's stages choose among the boxes of the previous stage, except the
    objects' own boxes, which are added anew in each choice.

    Args:
      levels: as for `__call__`.
      proposals: as for `__call__`.
      valid: as for `__call__`.
      canvas: (height, width) in px.
      truth: objects of the batch.
      train: train rules of a library.
      key: JAX key that chooses regions.
    """
    every: Losses = {}
    for i in range(self.stages):
      key, of_boxes, of_masks = jax.random.split(key, 3)
      given = truth, train
      chosen = self._chosen(i, proposals, valid, *given, of_boxes)
      got, offsets = self._box_losses(i, levels, chosen, *given)
      moved = self._moved(i, chosen.boxes, offsets[:, :, :1], truth.sizes)
      proposals = jax.lax.stop_gradient(moved[:, :, 0])
      valid = chosen.chosen & ~chosen.given
      if self.masks:
        own = self._mask_regions(i, chosen, proposals, valid, *given, of_masks)
        got["loss_mask"] = self._mask_loss(i, levels, own, canvas, *given)
      end = f"_{i}" if self.stages > 1 else ""
      share = train_rules.STAGE_WEIGHTS[i]
      every |= {name + end: share * loss for name, loss in got.items()}
    return every

  def _chosen(
    self,
    stage: int,
    proposals: jax.Array,
    valid: jax.Array,
    truth: Truth,
    train: TrainRules,
    key: jax.Array,
  ) -> matching.Regions:
    """Choose the regions that a stage learns from, `[B, N, ...]`."""
    choose = functools.partial(
      matching.regions,
      overlap=train_rules.STAGE_OVERLAPS[stage],
      nearest_too=train.nearest_too,
      count=train.regions,
      objects=train.regions // _FOURTH,
      edge=self.rules.edge,
    )
    keys = jax.random.split(key, len(proposals))
    every = proposals, valid, truth.boxes, truth.labels
    return jax.vmap(choose)(keys, *every)

  def _box_losses(
    self,
    stage: int,
    levels: Sequence[jax.Array],
    chosen: matching.Regions,
    truth: Truth,
    train: TrainRules,
  ) -> tuple[Losses, jax.Array]:
    """Return the losses of a stage's classes and boxes, and the offsets."""
    logits, offsets = self._boxes(stage, levels, chosen.boxes)
    output = labels_lib.outputs(self.labels, chosen.labels)
    slot = output if offsets.shape[2] > 1 else jnp.zeros_like(output)
    slot = jnp.minimum(slot, offsets.shape[2] - 1)  # the background has none
    expected = boxes_lib.encode(
      jnp.take_along_axis(truth.boxes, chosen.which[..., None], 1),
      chosen.boxes,
      _WEIGHTS[stage],
      self.rules.edge,
    )
    cross, far = losses.region_losses(
      logits,
      jnp.take_along_axis(offsets, slot[..., None, None], 2)[:, :, 0],
      expected,
      output,
      chosen.labels >= 0,
      train.betas[1],
    )
    return {
      "loss_classifier": losses.mean(cross, chosen.chosen),
      "loss_box_reg": losses.mean(far, chosen.chosen),
    }, offsets

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
    """Return the regions that a stage's mask head learns from: those of its boxes."""
    del stage, boxes, valid, truth, train, key
    return chosen

  def _mask_loss(
    self,
    stage: int,
    levels: Sequence[jax.Array],
    chosen: matching.Regions,
    canvas: tuple[int, int],
    truth: Truth,
    train: TrainRules,
  ) -> jax.Array:
    """Compute the mean mask loss over all pixels of all objects' masks."""
    most = train.regions // _FOURTH  # objects come first
    boxes, labels, index = (
      part[:, :most] for part in (chosen.boxes, chosen.labels, chosen.which)
    )
    output = labels_lib.outputs(self.labels, labels)
    output = jnp.where(labels >= 0, output, 0).reshape(-1)
    *_, logits = self._mask_logits(levels, boxes, output, stage + 1)
    bins = logits.shape[-1]
    expected = mask_targets.box_targets(
      truth, boxes, index, bins=bins, style=train.masks, canvas=canvas
    )
    each = losses.binary(logits, expected.reshape(logits.shape))
    return losses.mean(each.mean((1, 2)), labels.reshape(-1) >= 0)

  def _masks(
    self, levels: Sequence[jax.Array], boxes: jax.Array, output: jax.Array
  ) -> jax.Array:
    """Compute masks float32 `[B, N, 28, 28]` in [0, 1]; a cascade's are averaged."""
    each = self._mask_logits(levels, boxes, output.reshape(-1), self.stages)
    total = functools.reduce(jnp.add, map(jax.nn.sigmoid, each))
    return (total / self.stages).reshape(*boxes.shape[:2], *total.shape[1:])

  def _mask_logits(
    self,
    levels: Sequence[jax.Array],
    boxes: jax.Array,
    output: jax.Array,
    stages: int,
  ) -> list[jax.Array]:
    """Compute mask logits `[B N, 28, 28]` of the first stages, all for the same
    boxes.
    """
    features = self._pool(levels, boxes, MASK_BINS)
    flat = features.reshape(-1, *features.shape[2:])
    parts: list[jax.Array] = []
    hidden = flat
    for i in range(stages):
      hidden = self._mask_features(i, flat, hidden)
      parts.append(self._part("mask_predictor", i)(hidden, output))
    return parts

  def _mask_features(
    self, stage: int, pooled: jax.Array, before: jax.Array
  ) -> jax.Array:
    """Compute features `[N, 14, 14, 256]` of a stage's mask head; `before` is
    the last stage's.
    """
    del before
    features: jax.Array = self._part("mask_head", stage)(pooled)
    return features

  def _pool(
    self, levels: Sequence[jax.Array], boxes: jax.Array, bins: int
  ) -> jax.Array:
    """Pool features of boxes, `[B, N, bins, bins, 256]`."""
    return roi_align.pool(
      levels[:_POOLED], boxes, bins, finest=self.finest, **self._align
    )

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
  """Suppress within classes over all proposals' boxes of all classes.

  Args:
    boxes: `[B, N, outputs or 1, 4]`.
    scores: `[B, N, outputs]`.
    valid: bool `[B, N]`, which proposals are valid.
    edges: `[B, 2]`, edges of the boxes along x and y. mmdetection 1.x
      suppresses in the pictures' pixels, where the edge is 1.
    labels: class of each output.
    smallest_px: thinner boxes are dropped.
    threshold: scores must be above it.
    overlap: IoU above which the worse of two boxes is dropped.
    most: most detections of a picture.

  Returns:
    The detections as from `Detector.apply`, and the output of each.
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

  def thin(
    boxes: jax.Array, scores: jax.Array, real: jax.Array, edge: jax.Array
  ) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    every = boxes, scores, output, real
    index, is_valid = boxes_lib.suppress(
      *every, threshold=overlap, most=most, edge=edge
    )
    return boxes[index], scores[index], output[index], is_valid

  boxes, scores, best, is_valid = jax.vmap(thin)(boxes, scores, real, edges)
  detections = {
    "boxes": boxes,
    "scores": scores,
    "classes": jnp.array(labels, jnp.int32)[best],
    "valid": is_valid,
  }
  return detections, best
