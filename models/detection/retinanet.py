"""RetinaNet (Lin et al. 2017, arXiv:1708.02002), as in torchvision and mmdetection.

The two differ in the input of P6, in the epsilon of the frozen normalisation,
in the number of detections, in their labels and by `models.detection.rules`.
Checkpoints of mmdetection 1.x and 2.x have the same names and shapes: the
file's version, or the user, says which of the two it is.
"""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers
from models.detection import anchors as anchors_lib
from models.detection import backbone, losses, single_stage
from models.detection import labels as labels_lib
from models.detection.backbone import WIDTH
from models.detection.detector import DetectorNetwork
from models.detection.losses import Losses
from models.detection.rules import RULES
from models.detection.spec import DetectorSpec
from models.detection.truth import Truth
from models.family import Family, Rules
from models.spec import Variant

_SPEC = DetectorSpec(
  detections=300, source="torchvision 0.28 models/detection/retinanet.py"
)
_MMDET = {
  generation: dataclasses.replace(
    _SPEC,
    detections=100,
    round_sides=True,
    weights=f"mmdetection{generation}",
    source=f"mmdetection {generation or 2}.x configs/retinanet",
  )
  for generation in ("", "1")
}
_COUNTS = {"resnet501": 37_968_692}  # of Michaelis et al. 2019, counted here
_STRIDES = (8, 16, 32, 64, 128)
_RATIOS = (0.5, 1.0, 2.0)
_BASES = (32, 64, 128, 256, 512)  # px: sides of the levels' smallest anchors
_OCTAVES = (1.0, 2 ** (1 / 3), 2 ** (2 / 3))
_EACH = len(_OCTAVES) * len(_RATIOS)
_PRIOR = 0.01  # initial probability of an object
_WEIGHTS = (1.0, 1.0, 1.0, 1.0)


VARIANTS = {
  # COCO_V1 was trained with FrozenBatchNorm2d's old epsilon, 0.
  "retinanet_resnet50_fpn": Variant(
    dataclasses.replace(_SPEC, parameters=34_068_119),
    {"body": "resnet50", "epsilon": 0.0, "rules": "torchvision"},
  ),
} | {
  f"retinanet_{body}_fpn_mmdet{generation}": Variant(
    dataclasses.replace(spec, parameters=_COUNTS.get(body + generation)),
    {"body": body, "epsilon": 1e-5, "rules": spec.weights},
  )
  for generation, spec in _MMDET.items()
  for body in backbone.BODIES
}
CHECKPOINTS: dict[str, Rules] = {
  "torchvision old": (
    *backbone.TORCHVISION_OLD,
    (r"_head\.conv\.([0246])\.(weight|bias)$", r"_head.conv.\1.OLD.\2"),
    (r"conv\.0\.OLD", "conv.0.0"),
    (r"conv\.2\.OLD", "conv.1.0"),
    (r"conv\.4\.OLD", "conv.2.0"),
    (r"conv\.6\.OLD", "conv.3.0"),
  ),
  "mmdetection": (
    (r"^neck\.fpn_convs\.3\.conv\.", "neck.extra_blocks.p6."),
    (r"^neck\.fpn_convs\.4\.conv\.", "neck.extra_blocks.p7."),
    *backbone.MMDETECTION,
    (r"^neck\.extra_blocks\.", "backbone.fpn.extra_blocks."),
    (
      r"^bbox_head\.cls_convs\.(\d)\.conv\.",
      r"head.classification_head.conv.\1.0.",
    ),
    (
      r"^bbox_head\.reg_convs\.(\d)\.conv\.",
      r"head.regression_head.conv.\1.0.",
    ),
    (r"^bbox_head\.retina_cls\.", "head.classification_head.cls_logits."),
    (r"^bbox_head\.retina_reg\.", "head.regression_head.bbox_reg."),
  ),
}
CHECKPOINTS["mmdetection1"] = CHECKPOINTS["mmdetection"]


class Tower(nnx.Module):
  """The tower of four convolutions and a last one, shared by all levels."""

  cls_logits: nnx.Conv
  bbox_reg: nnx.Conv

  def __init__(self, last: str, outputs: int, *, rngs: nnx.Rngs):
    """Create the tower; `last` is the attribute of the last convolution."""
    self.conv = layers.Stack(
      [
        layers.Stack(
          [layers.conv(WIDTH, WIDTH, 3, 1, 1, rngs=rngs), layers.relu]
        )
        for _ in range(4)
      ]
    )
    setattr(self, last, layers.conv(WIDTH, outputs, 3, 1, 1, rngs=rngs))
    self.last = last

  def __call__(self, level: jax.Array) -> jax.Array:
    """Map `[B, H, W, 256]` to `[B, H, W, outputs]`."""
    return getattr(self, self.last)(self.conv(level))


class Head(nnx.Module):
  """The head that gives scores and offsets of every anchor."""

  def __init__(self, outputs: int, *, rngs: nnx.Rngs):
    """Create the head; `outputs` is the number of logits per anchor."""
    self.classification_head = Tower("cls_logits", _EACH * outputs, rngs=rngs)
    self.regression_head = Tower("bbox_reg", _EACH * 4, rngs=rngs)
    for last in (
      self.classification_head.cls_logits,
      self.regression_head.bbox_reg,
    ):
      backbone.redraw(last, 0.01, rngs)
    bias = self.classification_head.cls_logits.bias
    assert bias is not None  # `layers.conv` has one unless told otherwise
    bias[...] = jnp.full(bias.shape, -math.log((1 - _PRIOR) / _PRIOR))
    self.outputs = outputs

  def __call__(self, levels: list[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """Map levels to logits `[B, A, outputs]` and offsets `[B, A, 4]`, float32."""
    logits, offsets = [], []
    for level in levels:
      count = level.shape[0], level.shape[1] * level.shape[2] * _EACH
      scores = self.classification_head(level).reshape(*count, self.outputs)
      logits.append(scores.astype(jnp.float32))
      boxes = self.regression_head(level).reshape(*count, 4)
      offsets.append(boxes.astype(jnp.float32))
    return jnp.concatenate(logits, 1), jnp.concatenate(offsets, 1)


class Network(DetectorNetwork):
  """A detector with levels of strides 8 to 128 and shared heads."""

  def __init__(
    self,
    *,
    body: str,
    epsilon: float,
    rules: str,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the network.

    Args:
      body: name in `models.classification.resnet.VARIANTS`.
      epsilon: epsilon of the frozen normalisation.
      rules: name in `models.detection.rules`.
      num_classes: number of classes of objects.
      rngs: for the initial weights.
    """
    mmdet = rules != "torchvision"
    self.backbone = backbone.Backbone(
      name=body,
      epsilon=epsilon,
      first=1,
      coarser="c5" if mmdet else "p5",
      rngs=rngs,
    )
    self.labels = labels_lib.table(
      "plain" if mmdet else "torchvision", num_classes
    )
    self.head = Head(len(self.labels), rngs=rngs)
    self.most = (_MMDET[""] if mmdet else _SPEC).detections
    self.mmdet, self.rules, self.training = mmdet, RULES[rules], rules

  def __call__(
    self, x: jax.Array, sizes: jax.Array, factor: jax.Array
  ) -> dict[str, jax.Array]:
    """Return detections, see `DetectorNetwork`."""
    levels = self.backbone(x)
    logits, offsets = self.head(levels)
    table = jnp.array(self.labels, jnp.int32)
    scores = jnp.where(table >= 0, jax.nn.sigmoid(logits), 0)
    detections = single_stage.detections(
      scores,
      offsets,
      jnp.asarray(self._anchors(x, levels)),
      counts=[n.shape[1] * n.shape[2] * _EACH for n in levels],
      sizes=sizes,
      weights=_WEIGHTS,
      most=self.most,
      rules=self.rules,
      edges=self.rules.edge / factor[:, :2],
    )
    return {**detections, "classes": table[detections["classes"]]}

  def losses(self, x: jax.Array, truth: Truth, key: jax.Array) -> Losses:
    """Return the losses; every anchor learns, so no key is needed."""
    del key
    levels, train = self.backbone(x), self.train_rules
    logits, offsets = self.head(levels)
    outputs = labels_lib.outputs(self.labels, truth.labels)
    counted = jnp.ones(logits.shape[:2], bool)
    if train.padded:
      shapes = [(level.shape[1], level.shape[2]) for level in levels]
      counted = anchors_lib.inside_padded(shapes, _STRIDES, _EACH, truth.sizes)
    return losses.anchor_losses(
      logits,
      offsets,
      jnp.asarray(self._anchors(x, levels)),
      counted,
      truth._replace(labels=jnp.where(truth.labels >= 0, outputs, -1)),
      weights=_WEIGHTS,
      edge=self.rules.edge,
      last_wins=train.last_wins,
      beta=train.betas[2],
      by_picture=train.by_picture,
    )

  def _anchors(self, x: jax.Array, levels: list[jax.Array]) -> np.ndarray:
    sizes = [[base * octave for octave in _OCTAVES] for base in _BASES]
    if not self.mmdet:
      sizes = [[float(int(n)) for n in level] for level in sizes]
    return anchors_lib.grid(
      (x.shape[1], x.shape[2]),
      [(level.shape[1], level.shape[2]) for level in levels],
      sizes,
      _RATIOS,
      strides=_STRIDES,
      rules=self.rules,
    )


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  alike=(("mmdetection", "mmdetection1"),),
  exclusive=("mmdetection", "mmdetection1"),
  stages=backbone.FROZEN_TOGETHER,
)
