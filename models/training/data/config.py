"""The part of the config that describes the training data: `config.data`."""

import os
import pathlib
import re
from collections.abc import Sequence
from typing import Annotated, Any

import pydantic

from models.training.data import crops
from robust_tfds import errors, settings, user_data
from robust_tfds.building.sources import mask_labels
from robust_tfds.storage import paths
from robust_tfds.user_data import folder, masks

# TFDS's sets whose benchmarks are made from the split `validation`, not `test`.
JUDGED = dict.fromkeys(
  ("cityscapes", "coco", "imagenet2012", "imagenet_resized"), "validation"
)

# Kinds of a user's own data that lie in a folder of training data.
FOLDERS = ("folder", "masks")

KEPT_PX = 256  # the shorter side of the pictures in `cache`

_Fraction = Annotated[
  float | int,
  pydantic.Field(
    ge=0,
    lt=1,
    description="a fraction from 0 to below 1 of the training data, to choose on:"
    " a test set, or a benchmark's split, is what the model is judged on",
  ),
]


def _split_names(value: str | Sequence[str]) -> tuple[str, ...]:
  words = value.split(",") if isinstance(value, str) else value
  return tuple(word.strip() for word in words if word.strip())


def _text(value: object) -> object:
  if value is None or isinstance(value, pathlib.PurePath):
    return os.fspath(value or "")
  return value


_Path = Annotated[
  str,
  pydantic.BeforeValidator(_text),
  pydantic.Field(description="a path, empty for none"),
]
_Names = Annotated[
  str | list[str] | tuple[str, ...],
  pydantic.AfterValidator(_split_names),
  pydantic.Field(description="names of benchmarks"),
]
_Classes = Annotated[
  str | list[str] | tuple[str, ...],
  pydantic.AfterValidator(user_data.class_names),
  pydantic.Field(description="a file of names of classes, or the names"),
]
_Canvas: Any = Annotated[
  tuple[()]
  | tuple[settings.Positive, settings.Positive]
  | Annotated[
    list[settings.Positive], pydantic.Field(min_length=2, max_length=2)
  ],
  pydantic.Field(description="a height and a width in px, or ()"),
]


class Config(settings.Group):
  """The choice of examples, and how each is cut to one size.

  Attributes:
    source: `digits` or another embedded set, `tfds:NAME`, `folder:PATH`,
      `masks:PATH`.
    split: the training split; `train[:10%]` is a part of one.
    judged_on: benchmarks that the network will be judged on, besides the set's
      own test split.
    validation: the fraction of the split that is held out by id for validation;
      0: none. A video's clips stay together, as do copies of a file; a folder's
      pictures that show one scene, as frames do (`v0_000.png`, `v0_001.png`),
      do not.
    data_dir: TFDS data folder.
    manual_dir: folder of files that must be downloaded by hand.
    crop: rule of `crops` for training pictures; empty: `geometry`.
    geometry: rule without random draws for validation pictures; empty: pictures
      stay as they are, all of one size.
    frames: frames of a clip; 0: the network's number, and its rate.
    rate: stride between a clip's frames, at 30 fps.
    canvas: height and width in px of the canvas for pictures with boxes, or with
      masks and no rule; empty: the smallest that holds every picture.
    boxes: most objects of a picture; 0: the most that any picture has.
    masks: whether objects come with their masks, as a network that finds masks
      needs them.
    classes: for `masks:`, the names of the ids 0, 1, ... of its masks.
    ignore: for `masks:`, the id of pixels that do not count.
    workers: number of processes that read; 0 for threads, one for each core
      that the process may use. None: processes, as many, where the decoded
      examples are too many to be held in memory; else threads.
    cache: folder that keeps decoded pictures for later epochs, with the shorter
      side at 256 px, from which all epochs are cut then; empty: none.
  """

  source: settings.Name
  split: settings.Name = "train"
  judged_on: _Names = ()
  validation: _Fraction = 0.0
  data_dir: _Path = ""
  manual_dir: _Path = ""
  crop: settings.Text = ""
  geometry: settings.Text = ""
  frames: settings.From0 = 0
  rate: settings.Positive = 1
  canvas: _Canvas = ()
  boxes: settings.From0 = 0
  masks: settings.Flag = False
  classes: _Classes = ()
  ignore: settings.From0 = mask_labels.IGNORE
  workers: settings.From0 | None = None
  cache: _Path = ""

  @property
  def options(self) -> user_data.Options:
    """The options of the user's own set."""
    ignore = None if self.ignore == mask_labels.IGNORE else self.ignore
    return user_data.Options(classes=tuple(self.classes), ignore=ignore)

  def check(self) -> None:
    """Refuse values that would let a run choose on data that it is judged on.

    Raises:
      UserError: a value is refused, or a rule of crops is unknown; the message
      begins with the key.
    """
    for part in self.split.split("+"):
      name = part.partition("[")[0].strip()
      source = re.split("[/:]", self.source.removeprefix("tfds:"))[0]
      if name.startswith("test") or JUDGED.get(source) == name:
        raise errors.UserError(
          f"config.data.split: got {self.split!r}: {source}'s {name} is what models"
          " are judged on. Train on another split."
        )
    kind, _, place = self.source.partition(":")
    if kind in FOLDERS:
      check_folder("config.data.source", place)
    with errors.prefixed("config.data"):
      user_data.check_options(kind, self.options)
    if kind == "masks":
      masks.checked_classes(self.classes, f"config.data.source={self.source}")
    if crops.is_random(self.geometry or ""):
      raise errors.UserError(
        f"config.data.geometry: got {self.geometry!r}: validation pictures are"
        " cropped the same way each time, e.g. short256_crop224; a random"
        " crop belongs in `crop`."
      )
    for key, rule in {"crop": self.crop, "geometry": self.geometry}.items():
      if rule:
        with errors.prefixed(f"config.data.{key}"):
          crops.shape(rule)
          px = crops.resized_px(rule)
        if self.cache and px > KEPT_PX:
          raise errors.UserError(
            f"config.data.cache: pictures are kept with the shorter side at"
            f" {KEPT_PX} px, config.data.{key}={rule} resizes to {px}. Leave it out."
          )
    if not paths.is_local(self.cache):
      raise errors.UserError(
        f"config.data.cache: got {self.cache!r}, expected a folder on this machine."
      )


def check_folder(key: str, place: str) -> None:
  """Refuse a folder of held-out pictures, also behind a link.

  Raises:
    UserError: the folder is refused; the message begins with the key.
  """
  for path in (place, os.fspath(paths.resolved(place))):
    name = path.rstrip("/").rpartition("/")[2]
    if folder.is_held_out(name):
      raise errors.UserError(
        f"{key}: got {place!r}: {name} is what models are judged on. Train on the"
        " folder beside it, or rename it where it holds something else."
      )
