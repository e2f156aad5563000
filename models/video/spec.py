"""What a published network expects of its clips, and what it answers."""

from __future__ import annotations

import dataclasses

from models.spec import Spec


@dataclasses.dataclass(frozen=True)
class VideoSpec(Spec):
  """A picture's `Spec`, and time.

  A clip is `frames` frames, each `rate` source frames after the one before, so
  that it spans `frames * rate` frames of a 30 fps video. Every frame is resized
  (`resize`, `resize_px`) and cropped to `input_px` in its centre.

  Attributes:
    frames: of one clip, as the network is given them.
    rate: stride between them in source frames, at 30 fps.
    any_length: whether the network takes clips of other lengths too.
    gflops: published multiply-adds of one clip at the published crop, in
      billions; None where there are none.
    label_space: `kinetics400` is the 400 classes in alphabetical order.
  """

  resize_px: int = 256
  # PySlowFast slowfast/config/defaults.py: DATA.MEAN, DATA.STD.
  mean: tuple[float, float, float] = (0.45, 0.45, 0.45)
  std: tuple[float, float, float] = (0.225, 0.225, 0.225)
  label_space: str = "kinetics400"
  num_classes: int = 400
  weights: str = "pytorchvideo"
  frames: int = 8
  rate: int = 8
  any_length: bool = True
  gflops: float | None = None

  def __post_init__(self):
    """Refuses clips that cannot be."""
    super().__post_init__()
    if self.frames < 1 or self.rate < 1:
      raise ValueError(
        f"Got {self.frames} frames at rate {self.rate}, expected 1 or more."
      )
