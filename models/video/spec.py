"""The spec of a video network: the clips that it expects, and its output."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from models.spec import (
  Flag,
  From1,
  Kind,
  Spec,
  Text,
  Three,
  Whole,
  fields_text,
)
from robust_tfds import errors


@dataclasses.dataclass(frozen=True, kw_only=True)
class VideoSpec(Spec):
  """A picture's `Spec` with time.

  A clip is `frames` frames, each `rate` source frames after the last, so that
  it spans `frames * rate` frames of a 30 fps video. Every frame is resized
  (`resize`, `resize_px`) and cropped to `input_px` in its centre.

  Attributes:
    frames: frames of one clip, as the network is given them.
    rate: stride between them in source frames, at 30 fps.
    any_length: whether the network takes clips of other lengths too.
    label_space: `kinetics400` is the 400 classes in alphabetical order.
  """

  kind: ClassVar[Kind] = "video"
  item_axes: ClassVar[int] = 4

  # PySlowFast slowfast/config/defaults.py: DATA.MEAN, DATA.STD.
  mean: Three = (0.45, 0.45, 0.45)
  std: Three = (0.225, 0.225, 0.225)
  label_space: Text = "kinetics400"
  num_classes: Whole = 400
  weights: Text = "pytorchvideo"
  frames: From1 = 8
  rate: From1 = 8
  any_length: Flag = True

  @property
  def clip_frames(self) -> int:
    """The number of frames, `frames`."""
    return self.frames

  def batch_shape(self, count: int, side_px: int) -> tuple[int, ...]:
    """Return `[count, frames, S, S, 3]`; clips are always cut to `input_px`."""
    del side_px
    return (count, self.frames, self.input_px, self.input_px, 3)

  def _check_sizes(self, fields: Mapping[str, Any]) -> None:
    super()._check_sizes(fields)
    frames = fields.get("frames", self.frames)
    if not self.any_length and (
      frames != self.frames or fields.get("any_length")
    ):
      raise errors.UserError(
        f"Got {fields_text(fields, 'frames', 'any_length')}, and this network takes"
        f" clips of {self.frames} frames alone. Choose a model of that length."
      )

  def check_shape(self, name: str, shape: tuple[int, ...]) -> None:
    """Check a shape like `Spec.check_shape`, and refuse clips of another length.

    Raises:
      UserError: the shape is wrong; the message has the expected one.
    """
    super().check_shape(name, shape)
    if not self.any_length and shape[1] != self.frames:
      raise errors.UserError(
        f"{name} got clips of {shape[1]} frames, expected {self.frames}: sample"
        " them by its spec first."
      )
