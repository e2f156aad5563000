"""A Faster R-CNN for scenes of digits, on the levels of `tiny_retinanet`."""

from __future__ import annotations

import dataclasses

from flax import nnx

from models.detection import labels as labels_lib
from models.detection import rcnn, tiny
from models.detection.proposals import Proposals
from models.detection.roi_heads import RoIHeads
from models.detection.rules import RULES
from models.family import Family
from models.spec import Variant

_SPEC = dataclasses.replace(tiny.SPEC, parameters=616_483)
VARIANTS = {"tiny_fasterrcnn": Variant(_SPEC)}
_SIZES = ((16.0, 24.0), (32.0, 44.0), (56.0, 72.0))  # digits are 18-52 px high
_RATIOS = (1.0, 1.6)
_BEST = (200, 50)  # proposals per level, per picture
_HIDDEN = 128
_FINEST = 3  # logarithm of the first level's stride


class Network(tiny.Pyramid, rcnn.Network):
  """A detector with proposals and heads on three levels, with torchvision's
  conventions.
  """

  def __init__(self, *, num_classes: int, rngs: nnx.Rngs):
    """Create the network; `num_classes` counts objects alone."""
    tiny.Pyramid.__init__(self, rngs=rngs)
    self.rules, self.training = RULES["torchvision"], "tiny"
    self.rpn = Proposals(
      rules=self.rules,
      width=tiny.WIDTH,
      sizes=_SIZES,
      strides=tiny.STRIDES,
      ratios=_RATIOS,
      best=_BEST,
      rngs=rngs,
    )
    self.roi_heads = RoIHeads(
      labels=labels_lib.table("first", num_classes),
      rules=self.rules,
      masks=False,
      stages=1,
      most=tiny.SPEC.detections,
      threshold=self.threshold,
      width=tiny.WIDTH,
      hidden=_HIDDEN,
      finest=_FINEST,
      rngs=rngs,
    )


FAMILY = Family(Network, VARIANTS, stages=tiny.FAMILY.stages)
