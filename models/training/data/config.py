"""What is said of the data that a network is trained on."""

import dataclasses
import math
from collections.abc import Sequence

from robust_tfds import errors
from robust_tfds.models.training.data import crops

# TFDS's sets of whose split `validation`, not `test`, benchmarks are made.
_JUDGED = dict.fromkeys(("cityscapes", "coco", "imagenet2012"), "validation")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
  """Which examples, and how each is cut to one size.

  Attributes:
    source: `digits` or another embedded set, `tfds:NAME`, `folder:PATH`.
    split: that is trained on; `train[:10%]` is a part of one.
    judged_on: benchmarks that the network will be judged on; beside the set's own
      test split.
    validation: the fraction of it that is kept apart by id to choose on; 0: none.
    data_dir: TFDS data folder.
    manual_dir: where files were put that nobody downloads.
    crop: of training pictures, a rule of `crops`; empty: `geometry`.
    geometry: of validation pictures, a rule that draws nothing; empty: as they
      are, all of one size.
    frames: of a clip.
    rate: stride between a clip's frames, at 30 fps.
    canvas: height and width in px that pictures with boxes lie in; empty: the
      smallest that holds every picture.
    boxes: most objects of a picture; 0: as many as any picture has.
  """

  source: str
  split: str = "train"
  judged_on: Sequence[str] = ()
  validation: float = 0.0
  data_dir: str = ""
  manual_dir: str = ""
  crop: str = ""
  geometry: str = ""
  frames: int = 0
  rate: int = 1
  canvas: Sequence[int] = ()
  boxes: int = 0

  def __post_init__(self) -> None:
    """Refuses what would let a run choose on data that it is judged on."""
    whole = isinstance(self.validation, int | float)
    if not (whole and math.isfinite(self.validation)):
      raise errors.UserError(
        f"validation={self.validation!r}: expected the fraction of the training"
        " data to choose on, e.g. 0.1. It is cut from them by id: a test set, or"
        " a benchmark's split, is what the model is judged on."
      )
    if not 0 <= self.validation < 1:
      raise errors.UserError(
        f"validation={self.validation}: expected a fraction from 0 to below 1."
      )
    for part in self.split.split("+"):
      name = part.partition("[")[0]
      of = self.source.removeprefix("tfds:").partition("/")[0]
      if name.startswith("test") or _JUDGED.get(of) == name:
        raise errors.UserError(
          f"split={self.split!r}: {of}'s {name} is what models are judged on."
          " Train on another split."
        )
    if crops.is_random(self.geometry):
      raise errors.UserError(
        f"geometry={self.geometry!r}: validation pictures are cropped the same way"
        " each time, e.g. short256_crop224; a crop that is drawn is of `crop`."
      )
    for rule in filter(None, (self.crop, self.geometry)):
      crops.shape(rule)
