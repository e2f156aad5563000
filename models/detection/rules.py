"""The numerics of a library, by which its detectors were trained and run.

The libraries share networks and differ in what the numbers mean: anchors, where
a box ends, RoIAlign's samples, which output is the background. mmdetection 1.x:
AnchorGenerator, delta2bbox, nms, RoIAlign and SingleRoIExtractor at v1.0rc0. R-FCN:
msracver/Flow-Guided-Feature-Aggregation, bbox_transform and generate_anchor.
"""

import dataclasses
import math

_LARGEST = math.log(1000 / 16)  # torchvision's clip of predicted log sizes


@dataclasses.dataclass(frozen=True)
class Rules:
  """What a library's numbers mean.

  Attributes:
    strided: anchors lie in fixed strides; else the canvas's side over the
      features'.
    rounded: anchors have whole pixels.
    edge: px from a box's last coordinates to its end: 1 where they are of its
      last pixel, 0 where of its border.
    log_limits: least and largest predicted log of a size.
    smallest_px: proposals thinner than the first, detections thinner than the
      second are dropped.
    samples: RoIAlign's of a bin's side; 0: as many as a bin has pixels.
    aligned: RoIAlign's pixel centres lie at half-integers.
    labels: of a head with a softmax, see `models.detection.labels`.
    of_classes: boxes and masks have no outputs of the background.
    by_anchor: RetinaNet's candidates are whole anchors, not (anchor, class).
  """

  strided: bool
  rounded: bool
  edge: float = 0.0
  log_limits: tuple[float, float] = (-_LARGEST, _LARGEST)
  smallest_px: tuple[float, float] = (1e-3, 1e-2)
  samples: int = 2
  aligned: bool = False
  labels: str = "first"
  of_classes: bool = False
  by_anchor: bool = False


RULES = {
  "torchvision": Rules(
    strided=False,
    rounded=True,
    log_limits=(-math.inf, _LARGEST),
    labels="torchvision",
  ),
  "mmdetection": Rules(
    strided=True,
    rounded=False,
    samples=0,
    aligned=True,
    labels="last",
    of_classes=True,
  ),
  "mmdetection1": Rules(
    strided=True,
    rounded=True,
    edge=1.0,
    smallest_px=(0.0, 0.0),
    by_anchor=True,
  ),
  "fgfa": Rules(
    strided=True,
    rounded=True,
    edge=1.0,
    log_limits=(-math.inf, math.inf),
    smallest_px=(0.0, 0.0),
  ),
}
