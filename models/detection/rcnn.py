"""Faster R-CNN, Mask R-CNN and Cascade R-CNN on feature pyramids.

Ren et al. 2015 (arXiv:1506.01497), He et al. 2017 (arXiv:1703.06870), Cai and
Vasconcelos 2018 (arXiv:1712.00726); as torchvision 0.28 and, where the name
ends in `_mmdet` or `_mmdet1`, as mmdetection 2.x or 1.x. A fixed number of
proposals goes through the heads; padding is masked.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import nnx

from models.detection import backbone, roi_heads
from models.detection import labels as labels_lib
from models.detection.detector import DetectorNetwork
from models.detection.losses import Losses
from models.detection.proposals import Proposals
from models.detection.rules import RULES
from models.detection.spec import DetectorSpec
from models.detection.truth import Truth
from models.family import Family, Rules
from models.spec import Variant

_SPEC = DetectorSpec(source="torchvision 0.28 models/detection/faster_rcnn.py")
# Generation in a name -> its spec.
MMDET = {
  "": dataclasses.replace(
    _SPEC,
    round_sides=True,
    weights="mmdetection",
    source="mmdetection 2.x configs/_base_, configs/dcn, configs/htc",
  ),
  "1": dataclasses.replace(
    _SPEC,
    round_sides=True,
    weights="mmdetection1",
    source="mmdetection v1.0rc0 configs, configs/dcn, configs/htc",
  ),
}
_KINDS: dict[str, dict[str, Any]] = {
  "fasterrcnn": {"masks": False, "stages": 1},
  "maskrcnn": {"masks": True, "stages": 1},
  "cascadercnn": {"masks": False, "stages": 3},
  "cascademaskrcnn": {"masks": True, "stages": 3},
}
# Parameters of torchvision's modules (it prints 53,120 fewer: scales and
# offsets of frozen normalisation, which it keeps as buffers); those of the
# models in the tables of Michaelis et al. 2019 are counted here.
_COUNTS = {
  "fasterrcnn_resnet50_fpn": 41_808_406,
  "maskrcnn_resnet50_fpn": 44_454_513,
  "fasterrcnn_resnet50_fpn_mmdet1": 41_757_156,
  "fasterrcnn_resnet101_fpn_mmdet1": 60_749_284,
  "fasterrcnn_resnext101_32x4d_fpn_mmdet1": 60_377_828,
  "fasterrcnn_resnext101_64x4d_fpn_mmdet1": 99_655_396,
  "maskrcnn_resnet50_fpn_mmdet1": 44_400_693,
  "cascadercnn_resnet50_fpn_mmdet1": 69_394_766,
  "cascademaskrcnn_resnet50_fpn_mmdet1": 77_325_377,
  "fasterrcnn_resnet50_dconv_fpn_mmdet1": 42_337_998,
  "fasterrcnn_resnext101_32x4d_dconv_fpn_mmdet1": 62_949_632,
  "maskrcnn_resnet50_dconv_fpn_mmdet1": 44_981_535,
}


def _variants() -> Iterator[tuple[str, Variant]]:
  for kind in ("fasterrcnn", "maskrcnn"):
    # COCO_V1 was trained with FrozenBatchNorm2d's old epsilon, 0.
    own = {"body": "resnet50", "epsilon": 0.0, "rules": "torchvision"}
    yield f"{kind}_resnet50_fpn", Variant(_SPEC, {**own, **_KINDS[kind]})
  for generation, spec in MMDET.items():
    for kind, options in _KINDS.items():
      # As in both zoos, cascades have only the first version.
      ends = ("", "_dconv", *["_mdconv"] * (options["stages"] == 1))
      for body, end in itertools.product(backbone.BODIES, ends):
        own = {"body": body + end, "epsilon": 1e-5, "rules": spec.weights}
        name = f"{kind}_{body}{end}_fpn_mmdet{generation}"
        yield name, Variant(spec, {**own, **options})


VARIANTS = {
  name: dataclasses.replace(
    variant,
    spec=dataclasses.replace(variant.spec, parameters=_COUNTS.get(name)),
  )
  for name, variant in _variants()
}
# mmdetection 1.x has heads without `roi_head`.
OLDER: Rules = (
  (r"^roi_head\.", "newer."),
  (r"^(bbox|mask|semantic)_head\.", r"roi_head.\1_head."),
)
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
CHECKPOINTS["mmdetection1"] = (*OLDER, *CHECKPOINTS["mmdetection"])


class Network(DetectorNetwork):
  """A detector with levels of strides 4 to 64, proposals, and heads on them.

  Attributes:
    heads: the class of the second stage.
    threshold: minimum score of detections.
  """

  heads: ClassVar[type[roi_heads.RoIHeads]] = roi_heads.RoIHeads
  threshold: ClassVar[float] = 0.05

  def __init__(
    self,
    *,
    body: str,
    epsilon: float,
    rules: str,
    masks: bool,
    stages: int,
    num_classes: int,
    rngs: nnx.Rngs,
  ):
    """Build the network.

    Args:
      body: see `backbone.Body`.
      epsilon: epsilon of the frozen normalisation.
      rules: name in `models.detection.rules`.
      masks: whether there is a mask head.
      stages: 1, or 3 for a cascade.
      num_classes: number of classes of objects.
      rngs: for the initial weights.
    """
    self.backbone = backbone.Backbone(
      name=body, epsilon=epsilon, first=0, coarser="pool", rngs=rngs
    )
    self.rules, self.has_masks = RULES[rules], masks
    self.training = _training(rules, masks, stages)
    self.rpn = Proposals(rules=self.rules, rngs=rngs)
    self.roi_heads = self.heads(
      labels=labels_lib.table(self.rules.labels, num_classes),
      rules=self.rules,
      masks=masks,
      stages=stages,
      most=_SPEC.detections,
      threshold=self.threshold,
      rngs=rngs,
    )

  def __call__(
    self, x: jax.Array, sizes: jax.Array, factor: jax.Array
  ) -> dict[str, jax.Array]:
    """Return detections, see `DetectorNetwork`."""
    levels = self.levels(x)
    sizes = jnp.asarray(sizes)
    proposals, valid = self.rpn(levels, (x.shape[1], x.shape[2]), sizes)
    return self.roi_heads(levels, proposals, valid, sizes, factor)

  def losses(self, x: jax.Array, truth: Truth, key: jax.Array) -> Losses:
    """Return the losses, see `DetectorNetwork`."""
    canvas, levels = (x.shape[1], x.shape[2]), self.levels(x)
    of_anchors, of_regions = jax.random.split(key)
    given = truth, self.train_rules
    own, proposals, valid = self.rpn.losses(levels, canvas, *given, of_anchors)
    more = self.roi_heads.losses(
      *(levels, proposals, valid, canvas), *given, of_regions
    )
    return {**own, **more}

  def levels(self, x: jax.Array) -> list[jax.Array]:
    """Map `[B, H, W, 3]` to levels, the finest first."""
    levels: list[jax.Array] = self.backbone(x)
    return levels


def _training(rules: str, masks: bool, stages: int) -> str:
  """Return the name of the train rules; mmdetection 2.x has some for each kind."""
  if rules != "mmdetection":
    return rules
  return rules + (" cascade" if stages > 1 else " masks" * masks)


FAMILY = Family(
  Network,
  VARIANTS,
  CHECKPOINTS,
  exclusive=("mmdetection", "mmdetection1"),
  stages=backbone.FROZEN_TOGETHER,
)
