"""Digits in motion, as video files: the class is the motion."""

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from robust_tfds import movies
from robust_tfds.building import drawing, movie_feature, videos
from robust_tfds.building import source as source_lib
from robust_tfds.datasets.digits import digits_dataset_builder as digits

CLASSES = (
  "left",
  "right",
  "up",
  "down",
  "growing",
  "shrinking",
  "turning_left",
  "turning_right",
)
COUNTS = {"train": 960, "test": 240}
FPS = 30.0
FRAMES, SIDE_PX = 16, 48
_DIGIT_PX = 24
_TRAVEL_PX = (10.0, 20.0)  # from the first to the last frame
_TURN = (0.6, 1.4)  # radians
_ZOOM = (0.4, 0.8)  # range of the zoom's logarithm
_X264 = {"preset": "medium", "crf": "12"}


class Builder(videos.Builder):
  """Sixteen frames of a digit that moves, grows, shrinks or turns."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  FAMILY = None
  EDITION = ""
  OTHER_SPLITS = {"train": 0}
  CODECS = ()
  HAS_SOURCE = False
  CLASSES = CLASSES
  HOMEPAGE = digits.HOMEPAGE

  def example_features(self) -> dict[str, Any]:
    """Return the features of a video of known shape."""
    video = movie_feature.Movie((FRAMES, SIDE_PX, SIDE_PX, 3))
    return super().example_features() | {"video": video}

  def _sources(self, dl_manager: Any) -> list[videos.Source]:
    del dl_manager
    return sources(self.SPLIT)

  def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
    del dl_manager
    return {s: self._generate_examples(s) for s in COUNTS}

  def _generate_examples(
    self, split: str
  ) -> Iterator[tuple[str, dict[str, Any]]]:
    for source in sources(split):
      yield videos.example((source, source.file.data(), FPS))


def sources(split: str) -> list[videos.Source]:
  """List the videos of a split, which are drawn when they are needed."""
  return [
    videos.Source(
      example_id(split, number),
      number % len(CLASSES),
      Encoded(split, number),
      FPS,
    )
    for number in range(COUNTS[split])
  ]


@functools.cache
def labels(split: str) -> Mapping[str, int]:
  """Return id -> true class of a split's videos."""
  return {
    example_id(split, number): number % len(CLASSES)
    for number in range(COUNTS[split])
  }


def example_id(split: str, number: int) -> str:
  """Return the stable id of a video: `test_0042.mp4`."""
  return f"{split}_{number:04d}.mp4"


@dataclasses.dataclass(frozen=True)
class Encoded(source_lib.Part):
  """The file of a video, drawn when it is asked for."""

  split: str
  number: int

  def data(self) -> bytes:
    """Return the video as H.264 in MP4."""
    frames = draw(self.split, self.number)
    return movies.encode(frames, options=_X264, fps=FPS)


def draw(split: str, number: int) -> np.ndarray:
  """Draw uint8 `[16, 48, 48, 3]`: a coloured digit moving over a plain colour."""
  dice = drawing.Dice("digits_video", "motion", example_id(split, number))
  rows = digits.rows(split)
  digit = digits.read(rows[dice.integer(0, len(rows) - 1)][0])[..., 0] / 255.0
  motion = CLASSES[number % len(CLASSES)]
  back, front = _colours(dice)
  start = np.array([dice.between(-6, 6), dice.between(-6, 6)])
  travel, turn, zoom = (dice.between(*r) for r in (_TRAVEL_PX, _TURN, _ZOOM))
  angle, size = dice.between(-0.3, 0.3), dice.between(-0.1, 0.1)
  frames = []
  for t in np.linspace(-0.5, 0.5, FRAMES):
    shift = start + travel * t * np.array(
      {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}.get(
        motion, (0, 0)
      )
    )
    # Counter-clockwise is positive.
    now = angle + turn * t * {"turning_left": 1, "turning_right": -1}.get(
      motion, 0
    )
    scale = size + zoom * t * {"growing": 1, "shrinking": -1}.get(motion, 0)
    cover = _placed(digit, shift, now, math.exp(scale))[..., None]
    frames.append(back + (front - back) * cover)
  return np.round(np.stack(frames)).astype(np.uint8)


def _placed(
  digit: np.ndarray, shift: np.ndarray, angle: float, scale: float
) -> np.ndarray:
  """Return how much of each pixel the digit covers: float64 `[48, 48]`."""
  y, x = np.mgrid[0:SIDE_PX, 0:SIDE_PX] + 0.5 - SIDE_PX / 2
  x, y = x - shift[0], y - shift[1]
  cos, sin = math.cos(angle), math.sin(angle)
  factor = len(digit) / (_DIGIT_PX * scale)
  u = (cos * x - sin * y) * factor + len(digit) / 2 - 0.5
  v = (sin * x + cos * y) * factor + len(digit) / 2 - 0.5
  padded = np.pad(digit, 1)
  u, v = (np.clip(a + 1, 0, len(digit) + 0.999) for a in (u, v))
  i, j = v.astype(int), u.astype(int)
  down, across = v - i, u - j
  upper = padded[i, j] * (1 - across) + padded[i, j + 1] * across
  lower = padded[i + 1, j] * (1 - across) + padded[i + 1, j + 1] * across
  return upper * (1 - down) + lower * down


def _colours(dice: drawing.Dice) -> tuple[np.ndarray, np.ndarray]:
  """Draw a dark or light background and a digit far from it, in levels."""
  back = np.array([dice.between(0, 90) for _ in range(3)])
  front = np.array([dice.between(150, 255) for _ in range(3)])
  return (back, front) if dice.integer(0, 1) else (front, back)
