"""The spec of a detector: the pictures that it expects, and its output."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from models.spec import (
  Flag,
  From0,
  From1,
  Kind,
  ModelSpec,
  Text,
  Whole,
)
from robust_tfds import errors


@dataclasses.dataclass(frozen=True, kw_only=True)
class DetectorSpec(ModelSpec):
  """The preprocessing and labels of a detector.

  Attributes:
    short_px: the shorter side is resized to this; 0: pictures stay as they are.
    long_px: limit of the longer side, which reduces the shorter one if
      exceeded.
    round_sides: whether sides are rounded, as in OpenCV, not floored.
    num_classes: number of classes; classes are 0..num_classes - 1.
    detections: most detections of a picture.
  """

  kind: ClassVar[Kind] = "detection"
  least_classes: ClassVar[int] = 1

  short_px: From0 = 800
  long_px: From1 = 1333
  round_sides: Flag = False
  label_space: Text = "coco"
  num_classes: Whole = 80
  detections: From1 = 100

  @property
  def usual_px(self) -> int:
    """The usual side of a picture: `short_px`, though the longer side is more."""
    return self.short_px

  def __post_init__(self) -> None:
    """Refuse impossible sizes.

    Raises:
      UserError: a size is impossible; the message names the field.
    """
    super().__post_init__()
    if self.short_px > self.long_px:
      raise errors.UserError(
        f"Got short_px {self.short_px} and long_px {self.long_px}: the longer"
        " side cannot be below the shorter one."
      )
