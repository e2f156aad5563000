"""Numerical conventions of the libraries by which detectors were trained and run.

The libraries share networks and differ in conventions: anchors, the end of a
box, RoIAlign's samples, the output of the background. mmdetection 1.x:
AnchorGenerator, delta2bbox, nms, RoIAlign and SingleRoIExtractor at v1.0rc0.
R-FCN: msracver/Flow-Guided-Feature-Aggregation, bbox_transform and
generate_anchor.
"""

import dataclasses
import math

_LARGEST = math.log(1000 / 16)  # torchvision's clip of predicted log sizes


@dataclasses.dataclass(frozen=True)
class Rules:
  """The numerical conventions of a library.

  Attributes:
    strided: whether anchors have fixed strides; else the stride is the canvas's
      side over the features'.
    rounded: whether anchors have whole pixels.
    edge: px from a box's last coordinates to its end: 1 if they belong to its
      last pixel, 0 if to its border.
    log_limits: least and largest predicted log of a size.
    smallest_px: proposals thinner than the first, detections thinner than the
      second are dropped.
    samples: RoIAlign's samples along a bin's side; 0: as many as a bin has
      pixels.
    aligned: whether RoIAlign's pixel centres lie at half-integers.
    labels: labels of a head with a softmax, see `models.detection.labels`.
    of_classes: whether boxes and masks have no outputs for the background.
    by_anchor: whether RetinaNet's candidates are whole anchors, not pairs
      (anchor, class).
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
