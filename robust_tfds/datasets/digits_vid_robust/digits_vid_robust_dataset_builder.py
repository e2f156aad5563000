"""Digits in smooth motion: the natural-video protocol on embedded data."""

import dataclasses
import functools
import io
import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import conditions
from robust_tfds.building import frames, source
from robust_tfds.datasets.digits import digits_dataset_builder as digits

_EVERY = 3  # every third test digit is an anchor
_CENTRE = 10  # number of the anchor in its video
_MARGIN = 8  # of the 8x8 digit on each side, so that nothing is cut at once
# Largest change at ten frames, chosen so that a small network trained on the
# still digits fails on some sets and not on most.
_SHIFT_PX = 3.0
_TURN = math.radians(15)
_ZOOM = 0.15
_DIM = 0.4
_INK_KEPT = 0.9  # a frame that shows less of the digit is no longer similar
_INK_LEVEL = 32


class Builder(frames.Builder):
  """120 test digits, each the centre of a video of 21 frames at 32x32 RGB."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "vid_robust"
  EMBEDDED = True
  OTHER_GEOMETRIES = ()
  CLASSES = tuple(str(d) for d in range(10))
  SIDE_PX = digits.SIDE_PX
  HOMEPAGE = digits.HOMEPAGE

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Return the ids of the embedded frames."""
    return [f.example_id for f in _all_frames(cls.SPLIT, False)]

  @classmethod
  def known_frames(cls) -> Sequence[frames.Row]:
    """Return the embedded frames, reviewed or not."""
    return frames.encode_chunk(_all_frames(cls.SPLIT, True), rule=cls.GEOMETRY)

  @classmethod
  def known_label(cls, example_id: str) -> int | None:
    """Return the digit that a frame shows."""
    return digits.labels(cls.SPLIT).get(example_id.partition("/")[0])

  def _frames(
    self, dl_manager: Any, include_unreviewed: bool
  ) -> list[frames.Frame]:
    del dl_manager
    return _all_frames(self.SPLIT, include_unreviewed)


@functools.cache
def _all_frames(split: str, include_unreviewed: bool) -> list[frames.Frame]:
  """List the frames of all anchors of a split."""
  return [
    frame
    for row, label in digits.rows(split)[::_EVERY]
    for frame in video(row, label)
    if include_unreviewed or frame.reviewed
  ]


def video(row: int, label: int) -> list[frames.Frame]:
  """List all 21 frames of a digit's video, reviewed or not, in order."""
  offsets = range(-frames.K, frames.K + 1)
  pictures = {o: picture(row, o) for o in offsets}
  whole = _ink(row, 0) * _INK_KEPT
  names = {
    o: f"{digits.example_id(row)}/{_CENTRE + o:06d}.png" for o in offsets
  }
  return [
    frames.Frame(
      example_id=names[o],
      group_id=names[0],
      frame=o,
      labels=(label,),
      picture=Encoded(row, o),
      anchor=Encoded(row, 0),
      reviewed=_ink(row, o) >= whole * _motion(row, o)[3] ** 2,
      boxes=(_box(label, pictures[o]),),
    )
    for o in offsets
  ]


def picture(row: int, offset: int) -> np.ndarray:
  """Draw uint8 `[32, 32, 3]`: the digit moved, turned, scaled and dimmed."""
  *_, light = _motion(row, offset)
  grey = np.round(_moved(row, offset) * light).astype(np.uint8)
  return np.repeat(grey[..., None], 3, axis=-1)


def _motion(row: int, offset: int) -> tuple[float, float, float, float, float]:
  """Return a frame's (right px, down px, turn, scale, light); still at offset 0."""
  draws = _draws(row)
  t = offset / frames.K
  sway = math.sin(math.pi / 2 * t)
  return (
    _SHIFT_PX * draws[0] * sway,
    _SHIFT_PX * draws[1] * sway,
    _TURN * draws[2] * t,
    math.exp(_ZOOM * draws[3] * t),
    1 - _DIM * abs(draws[4] * t),
  )


@functools.cache
def _draws(row: int) -> tuple[float, ...]:
  """Draw five numbers in [-1, 1], each digit's own."""
  name = digits.example_id(row)
  words = np.concatenate(
    [
      conditions.raw_keys(0, "digits_vid_robust", f"motion{i}", 0, [name])[0]
      for i in range(3)
    ]
  )
  return tuple(float(w) / 2**31 - 1 for w in words[:5])


def _moved(row: int, offset: int) -> np.ndarray:
  """Move the digit: float32 `[32, 32]` in 0..255, before the light changes.

  Bilinear in float64, cut to whole levels: the sums of Pillow's Geometry.c
  (affine_transform, bilinear_filter8), in its order.
  """
  right, down, turn, scale, _ = _motion(row, offset)
  source = _large(row)
  centre = len(source) / 2
  cos, sin = math.cos(turn) / scale, math.sin(turn) / scale
  x, y = -digits.SIDE_PX / 2 - right, -digits.SIDE_PX / 2 - down
  at = np.arange(digits.SIDE_PX) + 0.5
  # Where each pixel of the frame comes from; never so far as the ground's end.
  u = cos * at + sin * at[:, None] + (cos * x + sin * y + centre) - 0.5
  v = -sin * at + cos * at[:, None] + (-sin * x + cos * y + centre) - 0.5
  left, top = np.floor(u).astype(int), np.floor(v).astype(int)

  def between(a: np.ndarray, b: np.ndarray, part: np.ndarray) -> np.ndarray:
    return a + (b - a) * part

  above, below = (
    between(source[line, left], source[line, left + 1], u - left)
    for line in (top, top + 1)
  )
  return np.trunc(between(above, below, v - top)).astype(np.float32)


@functools.lru_cache(maxsize=2)
def _large(row: int) -> np.ndarray:
  """Place the digit of `digits` on a black ground three times as wide: float64."""
  still = digits.read(row)[..., 0]
  margin = _MARGIN * digits.SIDE_PX // 8
  return np.pad(still, margin).astype(np.float64)


def _ink(row: int, offset: int) -> float:
  return float(_moved(row, offset).sum())


def _box(label: int, pixels: np.ndarray) -> frames.Box:
  inked = pixels[..., 0] >= _INK_LEVEL
  y, x = np.flatnonzero(inked.any(axis=1)), np.flatnonzero(inked.any(axis=0))
  return frames.Box(
    label,
    float(y[0] / digits.SIDE_PX),
    float(x[0] / digits.SIDE_PX),
    float((y[-1] + 1) / digits.SIDE_PX),
    float((x[-1] + 1) / digits.SIDE_PX),
  )


@dataclasses.dataclass(frozen=True)
class Encoded(source.Part):
  """The file of a frame, drawn when it is asked for."""

  row: int
  offset: int

  @property
  def where(self) -> str:
    """The beginning of a message about the frame."""
    return f"{digits.example_id(self.row)}, frame {self.offset:+}"

  def data(self) -> bytes:
    """Return the frame as a PNG file."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(picture(self.row, self.offset)).save(out, "PNG")
    return out.getvalue()
