"""The base of natural-video sets: one example is one frame of an anchor set.

Keys of an example:

  image       the frame: the original JPEG under the geometry `whole`, else
              the cropped pixels, lossless
  label       the first of its labels
  labels      all classes that it shows
  example_id  the frame's path, unique
  group_id    the anchor's path: the set
  frame       signed offset from the anchor in frames, 0 the anchor
  is_anchor   whether it is the anchor
  reviewed    whether humans found anchor and frame good and similar
  frame_type  I, P or B: how the video's codec stored it; empty if not known
  fps         of the video, 0 if not known
  linf        largest pixel difference from the anchor, in [0, 1] (Appendix F)
  objects     boxes and their classes, if there are annotations; only under
              `whole`, because crops move them

Configs: `reviewed` (the default, the benchmark) and `all` (before the human
review: every frame within ten of an anchor), each `_<geometry>` for crops.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import conditions, errors
from robust_tfds.building import base, geometry, jpeg_feature, pictures, source
from robust_tfds.reading import pictures as files

_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>\d+)(?P<after>\.\w+)")
K = 10  # Shankar et al. 2019, section 2: neighbours within ten frames
REVIEWED, ALL = "reviewed", "all"
WHOLE = "whole"


class PictureFile(Protocol):
  """A picklable reference to an encoded picture, which is read on demand."""

  def data(self) -> bytes:
    """Return the file's bytes."""


@dataclasses.dataclass(frozen=True)
class Box(source.Part):
  """An object: class id and sides as fractions of the frame."""

  label: int
  ymin: float
  xmin: float
  ymax: float
  xmax: float


@dataclasses.dataclass(frozen=True)
class Frame(source.Part):
  """A frame before it is read.

  Attributes:
    example_id: unique and stable: the frame's path.
    group_id: the anchor's path.
    frame: signed offset from the anchor.
    labels: class ids, at least one.
    picture: the file; None for a frame that comes from metadata only.
    reviewed: humans kept the pair (for the anchor: kept the anchor).
    boxes: annotated objects.
    frame_type: I, P, B, or empty.
    fps: frames per second, or 0.
    anchor: the anchor's file; the frame's own if None.
  """

  example_id: str
  group_id: str
  frame: int
  labels: tuple[int, ...]
  picture: PictureFile | None = None
  reviewed: bool = True
  boxes: tuple[Box, ...] = ()
  frame_type: str = ""
  fps: float = 0.0
  anchor: PictureFile | None = None

  @property
  def is_anchor(self) -> bool:
    """Whether the frame is its set's anchor."""
    return self.frame == 0

  def data(self) -> bytes:
    """Return the encoded picture.

    Raises:
      UserError: there are no pixels.
    """
    if self.picture is None:
      raise errors.UserError(
        "This frame comes from metadata alone; it has no pixels."
      )
    return self.picture.data()


class Builder(
  base.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """The base of the natural-video sets.

  Attributes:
    SIDE_PX: side of square frames of one size, stored lossless; None for JPEG
      files of any size.
  """

  KIND = "frames"
  CODECS: ClassVar[tuple[str, ...]] = (
    "raw",
  )  # frames are never compressed again
  GEOMETRY = WHOLE
  OTHER_GEOMETRIES: ClassVar[tuple[str, ...]] = ("imagenet",)
  CHUNK = 64
  SUPERVISED = ("image", "label")
  DEFAULT_BUILDER_CONFIG_NAME = REVIEWED
  SIDE_PX: ClassVar[int | None] = None

  @classmethod
  def known_group(cls, example_id: str, frame: int = 0) -> str | None:
    """Return the anchor: the frame at this distance in the same folder."""
    match = _NUMBERED.fullmatch(example_id)
    if not match or int(match["number"]) < frame:
      return None
    # Numbers that begin with 0 are all of one length.
    padded = len(match["number"]) if match["number"].startswith("0") else 0
    number = f"{int(match['number']) - frame:0{padded}d}"
    return f"{match['before']}{number}{match['after']}"

  @classmethod
  def known_frames(cls) -> Sequence[Row]:
    """Return all frames, with unreviewed ones, if known without any file; else
    none.
    """
    return ()

  @classmethod
  def condition_names(cls) -> list[str]:
    """Return the names of the configs of whole frames."""
    return [REVIEWED, ALL]

  @classmethod
  def _variants(cls) -> tuple[str, ...]:
    return ("", ALL)

  @classmethod
  def _stem(cls, condition: conditions.Condition, variant: str) -> str:
    return variant or REVIEWED

  @classmethod
  def _find_config(cls, name: str) -> base.Config:
    """Return the config `reviewed` (alias `clean`), `all`, or of a full name."""
    return super()._find_config(REVIEWED if name == conditions.CLEAN else name)

  def published_examples(self, split: str) -> int:
    """Return the number of reviewed frames; the papers do not count the others."""
    return 0 if self.config.variant == ALL else self.published_in(split)

  def example_features(self) -> dict[str, Any]:
    """Return the features of a frame and its place in its set, see the module."""
    rule = self.config.geometry
    whole = rule == WHOLE
    shape = geometry.shape(rule)
    if whole and self.SIDE_PX:
      shape = (self.SIDE_PX, self.SIDE_PX, 3)
    lossless = not whole or self.SIDE_PX is not None
    features: dict[str, Any] = {
      "image": jpeg_feature.picture(shape, lossless=lossless),
      "label": self.label_feature(),
      "labels": tfds.features.Sequence(self.label_feature()),
      "is_anchor": np.bool_,
      "reviewed": np.bool_,
      "frame_type": tfds.features.Text(),
      "fps": np.float32,
      "linf": np.float32,
    }
    if whole:
      features["objects"] = tfds.features.Sequence(
        {"bbox": tfds.features.BBoxFeature(), "label": self.label_feature()}
      )
    return features

  def _frames(self, dl_manager: Any, include_unreviewed: bool) -> list[Frame]:
    """Return the frames of all sets; implemented by each dataset."""
    raise NotImplementedError

  def _sources(self, dl_manager: Any) -> list[Frame]:
    frames = self._frames(dl_manager, self.config.variant == ALL)
    check(frames)
    return frames

  def _encoder(self) -> Callable[[Sequence[Frame]], list[Row]]:
    return functools.partial(encode_chunk, rule=self.config.geometry)

  def _to_example(self) -> Callable[[Row], tuple[str, dict[str, Any]]]:
    return example

  def _decodes(self) -> bool:
    return False  # most are stored as they are


@dataclasses.dataclass(frozen=True)
class Row:
  """A frame with its encoded picture."""

  frame: Frame
  data: bytes
  linf: float
  whole: bool


def encode_chunk(frames: Sequence[Frame], *, rule: str) -> list[Row]:
  """Read and crop frames; this runs in workers too.

  Raises:
    UserError: a frame that is a truncated picture, or of another size than its
      anchor; the message names it.
  """
  rows = []
  anchor: tuple[str, Any] = ("", None)
  for frame in frames:
    data = frame.data()
    pixels = geometry.decode(data, rule, frame.example_id)
    if frame.anchor and frame.group_id != anchor[0]:
      first = geometry.decode(frame.anchor.data(), rule, frame.group_id)
      anchor = frame.group_id, first
    reference = anchor[1] if frame.anchor else pixels
    if reference.shape != pixels.shape:
      raise errors.UserError(
        f"{frame.example_id} has shape {pixels.shape}, its anchor"
        f" {reference.shape}; frames of one video have one size."
      )
    whole = rule == WHOLE
    if whole:
      encoded = files.stored(data, frame.example_id)
    else:
      encoded = pictures.encode(pixels, pictures.RAW)
    rows.append(Row(frame, encoded, linf(pixels, reference), whole))
  return rows


def linf(image: np.ndarray, reference: np.ndarray) -> float:
  """Return the largest difference of two uint8 pictures, 1 for black against
  white.
  """
  # Unsigned differences wrap: the larger minus the smaller does not.
  difference = np.maximum(image, reference) - np.minimum(image, reference)
  return float(difference.max()) / 255


def example(row: Row) -> tuple[str, dict[str, Any]]:
  """Return (key, example) as TFDS takes it."""
  frame = row.frame
  features = {
    "image": io.BytesIO(row.data),
    "label": frame.labels[0],
    "labels": list(frame.labels),
    **base.example_keys(frame.example_id, frame.group_id, frame.frame),
    "is_anchor": frame.is_anchor,
    "reviewed": frame.reviewed,
    "frame_type": frame.frame_type,
    "fps": frame.fps,
    "linf": row.linf,
  }
  if row.whole:
    features["objects"] = [
      {
        "bbox": tfds.features.BBox(b.ymin, b.xmin, b.ymax, b.xmax),
        "label": b.label,
      }
      for b in frame.boxes
    ]
  return frame.example_id, features


def check(frames: Sequence[Frame]) -> None:
  """Refuse sets that pm-k cannot be computed on.

  Raises:
    UserError: no frames, a frame in two sets, twice at one offset, without
      labels or farther than ten, or a set without its anchor; the message names
      it.
  """
  if not frames:
    raise errors.UserError("The source holds no anchor sets.")
  seen: set[Any] = set()
  anchors = {f.group_id for f in frames if f.is_anchor}
  for f in frames:
    if f.group_id not in anchors:
      raise errors.UserError(f"The set of {f.group_id} lacks its anchor.")
    if abs(f.frame) > K:
      raise errors.UserError(
        f"{f.example_id} is {f.frame:+d} frames from its anchor {f.group_id};"
        f" sets reach {K} frames."
      )
    if not f.labels:
      raise errors.UserError(f"{f.example_id} has no label.")
    for key in (f.example_id, (f.group_id, f.frame)):
      if key in seen:
        raise errors.UserError(
          f"{f.example_id} occurs twice, in the set of {f.group_id} or in two"
          " sets; each frame belongs to one."
        )
      seen.add(key)
