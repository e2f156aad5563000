"""The spec of a segmenter: the pictures that it expects, and its output."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from models.spec import Flag, From0, From1, Kind, ModelSpec, Text, Whole
from robust_tfds import errors


@dataclasses.dataclass(frozen=True, kw_only=True)
class SegmenterSpec(ModelSpec):
  """The preprocessing, inference and labels of a network that labels pixels.

  A picture is resized by `height_px` and `width_px`, else by `short_px`; where
  all are 0 it stays as it is. Resizing is bilinear and antialiased.

  Attributes:
    height_px: height that pictures are squashed to; 0: see `short_px`.
    width_px: width that pictures are squashed to.
    short_px: the shorter side is resized to this, and the longer one in
      proportion, floored; 0: pictures stay as they are.
    long_px: limit of the longer side, which reduces the shorter one if
      exceeded.
    window_px: side of the square windows that slide over the resized picture;
      0: the whole picture is shown at once.
    stride_px: stride of the windows.
    align_corners: whether logits are enlarged with the corners' centres in
      place, as torch's option of that name.
    label_space: `cityscapes` is the 19 train ids, `voc` the 21 classes of 2012
      with the background first, `ade20k` the 150 of SceneParse without `other`.
    num_classes: number of classes; ids are 0..num_classes - 1.
  """

  kind: ClassVar[Kind] = "segmentation"

  height_px: From0 = 0
  width_px: From0 = 0
  short_px: From0 = 0
  long_px: From1 = 2048
  window_px: From0 = 0
  stride_px: From0 = 0
  align_corners: Flag = False
  label_space: Text = "cityscapes"
  num_classes: Whole = 19

  @property
  def usual_px(self) -> int:
    """The usual shorter side of a picture; 0: the data's own."""
    return min(self.height_px, self.width_px) or self.short_px

  @property
  def inference(self) -> str:
    """How pictures are shown: `whole`, or `slide`, window and stride in px.

    >>> SegmenterSpec(window_px=1024, stride_px=768).inference
    'slide1024_768'
    """
    if not self.window_px:
      return "whole"
    return f"slide{self.window_px}_{self.stride_px}"

  def __post_init__(self) -> None:
    """Refuse impossible sizes.

    Raises:
      UserError: a size is impossible; the message names the fields.
    """
    super().__post_init__()
    if bool(self.height_px) != bool(self.width_px):
      raise errors.UserError(
        f"Got height_px {self.height_px} and width_px {self.width_px}, expected"
        " both, or neither."
      )
    if self.short_px > self.long_px:
      raise errors.UserError(
        f"Got short_px {self.short_px} and long_px {self.long_px}: the longer"
        " side cannot be below the shorter one."
      )
    if bool(self.window_px) != bool(self.stride_px) or (
      self.stride_px > self.window_px
    ):
      raise errors.UserError(
        f"Got window_px {self.window_px} and stride_px {self.stride_px}, expected"
        " a stride of 1 px up to the window's side, or 0 for both: the whole"
        " picture."
      )
