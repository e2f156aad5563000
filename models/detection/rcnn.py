"""Faster R-CNN, Mask R-CNN and Cascade R-CNN on feature pyramids.

Ren et al. 2015 (arXiv:1506.01497), He et al. 2017 (arXiv:1703.06870), Cai and
Vasconcelos 2018 (arXiv:1712.00726); as torchvision 0.28 and, where the name ends
in `_mmdet`, as mmdetection 2.x. A fixed number of proposals goes through the
heads; those that are none are masked.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from robust_tfds.models.detection import backbone, roi_heads
from robust_tfds.models.detection import labels as labels_lib
from robust_tfds.models.detection.detector import DetectorNetwork
from robust_tfds.models.detection.proposals import Proposals
from robust_tfds.models.detection.spec import DetectorSpec
from robust_tfds.models.family import Family, Rules
from robust_tfds.models.spec import Variant

_SPEC = DetectorSpec(source="torchvision 0.28 models/detection/faster_rcnn.py")
_MMDET = dataclasses.replace(
  _SPEC, weights="mmdetection", source="mmdetection 2.x configs/_base_"
)
_BODIES = (
  "resnet50",
  "resnet101",
  "resnext101_32x4d",
  "resnext101_64x4d",
)
_KINDS: dict[str, dict[str, Any]] = {
  "fasterrcnn": {"masks": False, "stages": 1},
  "maskrcnn": {"masks": True, "stages": 1},
  "cascadercnn": {"masks": False, "stages": 3},
  "cascademaskrcnn": {"masks": True, "stages": 3},
}
# Of torchvision's modules; it prints 53,120 fewer: scales and offsets of frozen
# normalisation, which it keeps as buffers.
_COUNTS = {"fasterrcnn": 41_808_406, "maskrcnn": 44_454_513}
VARIANTS = {
  # COCO_V1 was trained with FrozenBatchNorm2d's old epsilon, 0.
  f"{kind}_resnet50_fpn": Variant(
    dataclasses.replace(_SPEC, parameters=count),
    {"body": "resnet50", "epsilon": 0.0, "mmdet": False, **_KINDS[kind]},
  )
  for kind, count in _COUNTS.items()
} | {
  f"{kind}_{body}_fpn_mmdet": Variant(
    _MMDET, {"body": body, "epsilon": 1e-5, "mmdet": True, **options}
  )
  for kind, options in _KINDS.items()
  for body in _BODIES
}
CHECKPOINTS: dict[str, Rules] = {
  "torchvision old": (
    *backbone.TORCHVISION_OLD,
    (r"^rpn\.head\.conv\.(weight|bias)$", r"rpn.head.conv.0.0.\1"),
    (r"mask_fcn1\.", "0.0."),
    (r"mask_fcn2\.", "1.0."),
    (r"mask_fcn3\.", "2.0."),
    (r"mask_fcn4\.", "3.0."),
  ),
  "mmdetection": (
    *backbone.MMDETECTION,
    (r"^rpn_head\.rpn_conv\.", "rpn.head.conv.0.0."),
    (r"^rpn_head\.rpn_cls\.", "rpn.head.cls_logits."),
    (r"^rpn_head\.rpn_reg\.", "rpn.head.bbox_pred."),
    (
      r"^roi_head\.bbox_head\.((?:\d\.)?)shared_fcs\.0\.",
      r"roi_heads.box_head.\1fc6.",
    ),
    (
      r"^roi_head\.bbox_head\.((?:\d\.)?)shared_fcs\.1\.",
      r"roi_heads.box_head.\1fc7.",
    ),
    (
      r"^roi_head\.bbox_head\.((?:\d\.)?)fc_cls\.",
      r"roi_heads.box_predictor.\1cls_score.",
    ),
    (
      r"^roi_head\.bbox_head\.((?:\d\.)?)fc_reg\.",
      r"roi_heads.box_predictor.\1bbox_pred.",
    ),
    (
      r"^roi_head\.mask_head\.((?:\d\.)?)convs\.(\d)\.conv\.",
      r"roi_heads.mask_head.\1\2.0.",
    ),
    (
      r"^roi_head\.mask_head\.((?:\d\.)?)upsample\.",
      r"roi_heads.mask_predictor.\1conv5_mask.",
    ),
    (
      r"^roi_head\.mask_head\.((?:\d\.)?)conv_logits\.",
      r"roi_heads.mask_predictor.\1mask_fcn_logits.",
    ),
  ),
}


class Network(DetectorNetwork):
  """Levels of strides 4 to 64, proposals, and heads on them."""

  def __init__(
    self,
    *,
    body: str,
    epsilon: float,
    mmdet: bool,
    masks: bool,
    stages: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Builds it.

    Args:
      body: of `models.classification.resnet.VARIANTS`.
      epsilon: of the frozen normalisation.
      mmdet: mmdetection's anchors, RoIAlign and labels, not torchvision's.
      masks: whether there is a mask head.
      stages: 1, or 3 for a cascade.
      num_classes: classes of objects.
      rngs: for the initial weights.
    """
    self.backbone = backbone.Backbone(
      name=body, epsilon=epsilon, first=0, coarser="pool", rngs=rngs
    )
    self.rpn = Proposals(mmdet=mmdet, rngs=rngs)
    table = labels_lib.table("last" if mmdet else "torchvision", num_classes)
    self.roi_heads = roi_heads.RoIHeads(
      labels=table,
      mmdet=mmdet,
      masks=masks,
      stages=stages,
      most=_SPEC.detections,
      rngs=rngs,
    )

  def __call__(self, x: jax.Array, sizes: jax.Array) -> dict[str, jax.Array]:
    """Pixels `[B, H, W, 3]` and valid sizes `[B, 2]` -> detections."""
    levels = self.backbone(x)
    proposals, valid = self.rpn(levels, (x.shape[1], x.shape[2]), sizes)
    # The coarsest level is for proposals alone.
    return self.roi_heads(levels[:-1], proposals, valid, jnp.asarray(sizes))


FAMILY = Family(Network, VARIANTS, CHECKPOINTS)
