"""What the natural-video sets share: one example is one frame of an anchor set.

Keys of an example:

  image       the frame; its own JPEG as it is under the geometry `whole`, else
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
  objects     boxes and their classes, where there are annotations; under `whole`
              alone, because crops move them

Configs: `reviewed` (the default, the benchmark) and `all` (before the human
review: every frame within ten of an anchor), each `_<geometry>` for crops.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import os
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import errors
from robust_tfds.datasets import chunks
from robust_tfds.datasets import geometry as geometry_lib
from robust_tfds.datasets import reproducible

K = 10  # Shankar et al. 2019, section 2: neighbours within ten frames
REVIEWED, ALL = "reviewed", "all"
WHOLE = "whole"
_BATCH = 64
_SHOWN = 3


@dataclasses.dataclass(frozen=True)
class Box:
  """An object: class id and sides as fractions of the frame."""

  label: int
  ymin: float
  xmin: float
  ymax: float
  xmax: float


@dataclasses.dataclass(frozen=True)
class Frame:
  """A frame before it is read.

  Attributes:
    example_id: unique and stable: the frame's path.
    group_id: the anchor's path.
    frame: signed offset from the anchor.
    labels: class ids, at least one.
    read: returns the encoded picture; picklable.
    reviewed: humans kept the pair (for the anchor: kept the anchor).
    boxes: annotated objects.
    frame_type: I, P, B, or empty.
    fps: frames per second, or 0.
    read_anchor: returns the anchor's encoded picture; the frame's own if None.
  """

  example_id: str
  group_id: str
  frame: int
  labels: tuple[int, ...]
  read: Callable[[], bytes]
  reviewed: bool = True
  boxes: tuple[Box, ...] = ()
  frame_type: str = ""
  fps: float = 0.0
  read_anchor: Callable[[], bytes] | None = None

  @property
  def is_anchor(self) -> bool:
    """Whether the frame is its set's anchor."""
    return self.frame == 0


@dataclasses.dataclass(kw_only=True)
class FramesConfig(tfds.core.BuilderConfig):
  """Which frames, and how they are cropped.

  Attributes:
    everything: before the human review, not only what it kept.
    geometry: how frames are cropped, see `geometry.py`.
  """

  everything: bool = False
  geometry: str = WHOLE


def configs() -> list[FramesConfig]:
  """`reviewed` and `all`, whole and with the evaluator's crop."""
  return [
    _config(everything, rule)
    for rule in (WHOLE, "imagenet")
    for everything in (False, True)
  ]


def _config(everything: bool, rule: str) -> FramesConfig:
  name = ALL if everything else REVIEWED
  what = "all frames within ten of an anchor" if everything else "reviewed sets"
  return FramesConfig(
    name=name if rule == WHOLE else f"{name}_{rule}",
    description=f"{what}; crop {rule}",
    everything=everything,
    geometry=rule,
  )


class FrameSetBuilder(
  reproducible.Builder,
  skip_registration=True,  # type: ignore[call-arg]
):
  """Base of the natural-video sets."""

  EDITION: str
  SPLIT = "test"
  DEFAULT_BUILDER_CONFIG_NAME = REVIEWED
  BUILDER_CONFIGS = configs()

  workers = 1
  beam = False

  @classmethod
  def conditions(cls) -> list[str]:
    """Names of the configs of whole frames."""
    return [REVIEWED, ALL]

  @classmethod
  def config_of(
    cls, name: str, *, codec: str | None = None, geometry: str | None = None
  ) -> FramesConfig:
    """The config of some frames under a geometry.

    Args:
      name: `reviewed` (or `clean`, its other name), `all`, or a full name.
      codec: `raw` or None: frames are never compressed again.
      geometry: as in `geometry.py`; the config's own if None.

    Raises:
      ValueError: an unknown config, codec or geometry, with a suggestion.
    """
    by_name = {c.name: c for c in cls.BUILDER_CONFIGS}
    wanted = REVIEWED if name == "clean" else name
    if wanted not in by_name:
      raise errors.unknown("config", name, ["clean", *by_name])
    if codec not in (None, "raw"):
      raise errors.unknown("codec", codec, ("raw",))
    found = by_name[wanted]
    if geometry is None:
      return found
    geometry_lib.shape(geometry)  # refuses unknown rules
    made = _config(found.everything, geometry)
    return by_name.get(made.name, made)

  def features(
    self, names: Sequence[str], side_px: int | None = None
  ) -> tfds.features.FeaturesDict:
    """The keys of an example.

    Args:
      names: classes in the order of their ids.
      side_px: side of the frames where all are square and alike.
    """
    rule = self.builder_config.geometry
    whole = rule == WHOLE
    shape = geometry_lib.shape(rule)
    if whole and side_px:
      shape = (side_px, side_px, 3)
    encoding = "jpeg" if whole and not side_px else "png"
    found: dict[str, Any] = {
      "image": tfds.features.Image(shape=shape, encoding_format=encoding),
      "label": tfds.features.ClassLabel(names=names),
      "labels": tfds.features.Sequence(tfds.features.ClassLabel(names=names)),
      "example_id": tfds.features.Text(),
      "group_id": tfds.features.Text(),
      "frame": np.int32,
      "is_anchor": np.bool_,
      "reviewed": np.bool_,
      "frame_type": tfds.features.Text(),
      "fps": np.float32,
      "linf": np.float32,
    }
    if whole:
      found["objects"] = tfds.features.Sequence(
        {
          "bbox": tfds.features.BBoxFeature(),
          "label": tfds.features.ClassLabel(names=names),
        }
      )
    return tfds.features.FeaturesDict(found)

  def _frames(self, dl_manager: Any, everything: bool) -> list[Frame]:
    """The frames of all sets; implemented by each dataset."""
    raise NotImplementedError

  def _split_generators(self, dl_manager):
    frames = self._frames(dl_manager, self.builder_config.everything)
    check(frames)
    return {self.SPLIT: self._generate_examples(frames)}

  def _generate_examples(self, frames):
    work = functools.partial(encode_chunk, rule=self.builder_config.geometry)
    return chunks.examples(
      work,
      chunks.split(frames, _BATCH),
      _example,
      workers=self.workers,
      beam=self.beam,
    )


@dataclasses.dataclass(frozen=True)
class _Row:
  """A frame with its encoded picture."""

  frame: Frame
  data: bytes
  linf: float
  whole: bool


def encode_chunk(frames: Sequence[Frame], *, rule: str) -> list[_Row]:
  """Frames, read and cropped; runs in workers too.

  Raises:
    ValueError: a frame that is not a whole picture, or of another size than its
      anchor; names it.
  """
  rows = []
  anchor: tuple[str, Any] = ("", None)
  for frame in frames:
    data = frame.read()
    pixels = geometry_lib.decode(data, rule, frame.example_id)
    if frame.read_anchor and frame.group_id != anchor[0]:
      first = geometry_lib.decode(frame.read_anchor(), rule, frame.group_id)
      anchor = frame.group_id, first
    other = anchor[1] if frame.read_anchor else pixels
    if other.shape != pixels.shape:
      raise ValueError(
        f"{frame.example_id} has shape {pixels.shape}, its anchor {other.shape};"
        " frames of one video have one size."
      )
    # Unsigned differences wrap: the larger minus the smaller does not.
    apart = np.maximum(pixels, other) - np.minimum(pixels, other)
    whole = rule == WHOLE
    encoded = data if whole else _png(pixels)
    rows.append(_Row(frame, encoded, float(apart.max()) / 255, whole))
  return rows


def _example(row: _Row) -> tuple[str, dict[str, Any]]:
  frame = row.frame
  example = {
    "image": io.BytesIO(row.data),
    "label": frame.labels[0],
    "labels": list(frame.labels),
    "example_id": frame.example_id,
    "group_id": frame.group_id,
    "frame": frame.frame,
    "is_anchor": frame.is_anchor,
    "reviewed": frame.reviewed,
    "frame_type": frame.frame_type,
    "fps": frame.fps,
    "linf": row.linf,
  }
  if row.whole:
    example["objects"] = [
      {
        "bbox": tfds.features.BBox(b.ymin, b.xmin, b.ymax, b.xmax),
        "label": b.label,
      }
      for b in frame.boxes
    ]
  return frame.example_id, example


def _png(pixels: np.ndarray) -> bytes:
  from PIL import Image

  out = io.BytesIO()
  Image.fromarray(pixels).save(out, "PNG", compress_level=1)
  return out.getvalue()


def read_file(path: str) -> bytes:
  """A file's bytes."""
  with open(path, "rb") as f:
    return f.read()


def check_files(paths: Sequence[str | os.PathLike], advice: str) -> None:
  """Refuses a source with missing frames before anything is written.

  Raises:
    FileNotFoundError: names the first ones and says how many.
  """
  lost = [os.fspath(p) for p in paths if not os.path.exists(p)]
  if lost:
    more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
    raise FileNotFoundError(
      f"{len(lost)} of {len(paths)} frames are missing:"
      f" {', '.join(lost[:_SHOWN])}{more}.\n{advice}"
    )


def check(frames: Sequence[Frame]) -> None:
  """Refuses sets that pm-k cannot be computed on.

  Raises:
    ValueError: no frames, a frame in two sets, twice at one offset, without
      labels or farther than ten, or a set without its anchor; names it.
  """
  if not frames:
    raise ValueError("The source holds no anchor sets.")
  seen: set = set()
  anchors = {f.group_id for f in frames if f.is_anchor}
  for f in frames:
    if f.group_id not in anchors:
      raise ValueError(f"The set of {f.group_id} lacks its anchor.")
    if abs(f.frame) > K:
      raise ValueError(
        f"{f.example_id} is {f.frame:+d} frames from its anchor {f.group_id};"
        f" sets reach {K} frames."
      )
    if not f.labels:
      raise ValueError(f"{f.example_id} has no label.")
    for key in (f.example_id, (f.group_id, f.frame)):
      if key in seen:
        raise ValueError(
          f"{f.example_id} occurs twice, in the set of {f.group_id} or in two"
          " sets; each frame belongs to one."
        )
      seen.add(key)


def statistics(frames: Sequence[Frame]) -> dict[str, Any]:
  """Counts as in Table 1 of the paper.

  Returns:
    `anchors`, `frames`, `pairs` (anchor and neighbour), `reviewed_anchors`,
    `labels` (frames by their number of labels), `set_sizes` (anchors by their
    number of neighbours) and `classes` (class id -> anchors that show it).
  """
  sizes = collections.Counter(f.group_id for f in frames if not f.is_anchor)
  anchors = [f for f in frames if f.is_anchor]
  return {
    "anchors": len(anchors),
    "frames": len(frames),
    "pairs": len(frames) - len(anchors),
    "reviewed_anchors": sum(f.reviewed for f in anchors),
    "labels": dict(collections.Counter(len(f.labels) for f in frames)),
    "set_sizes": dict(collections.Counter(sizes[f.group_id] for f in anchors)),
    "classes": dict(
      sorted(collections.Counter(c for f in anchors for c in f.labels).items())
    ),
  }


def candidates(path_at: Callable[[int], str], folder: os.PathLike) -> list[int]:
  """Offsets within ten at which a frame exists, 0 left out.

  Args:
    path_at: offset -> the frame's path below `folder`, empty for none.
    folder: of the frames.

  Raises:
    FileNotFoundError: a frame is missing between frames that are there.
  """
  root = os.fspath(folder)
  there = [
    o
    for o in range(-K, K + 1)
    if o and path_at(o) and os.path.exists(os.path.join(root, path_at(o)))
  ]
  for sign in (-1, 1):
    side = {abs(o) for o in there if o * sign > 0}
    holes = set(range(1, max(side, default=0))) - side
    if holes:
      raise FileNotFoundError(
        f"{path_at(sign * min(holes))} is missing between frames that are there."
      )
  return there


def no_pixels() -> bytes:
  """What a frame that comes from metadata alone reads."""
  raise ValueError("This frame comes from metadata alone; it has no pixels.")
