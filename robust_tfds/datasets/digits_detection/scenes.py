"""Scenes: digits on drawn backgrounds, with boxes and masks, from a seed.

Everything is a function of (seed, split, number): integers, and float64 sums and
products that every machine rounds alike; no sine, no library's sampler.

A scene is 96-128 px a side. Its background is a smooth colour field with a few
flat rectangles and discs and fine grain; one to five digits of scikit-learn's
(train rows for train scenes, test rows for test scenes), 18-52 px high, are laid
on it in a colour of contrast. Most digits keep clear of each other; about one in
eight may cover up to a quarter of another's box: masks are the visible parts.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from robust_tfds import resizing
from robust_tfds.building import drawing, objects, source
from robust_tfds.coco import rle
from robust_tfds.datasets.digits import digits_dataset_builder as digits

COUNTS = {"train": 1000, "test": 200}
_SIDES_PX = (96, 104, 112, 120, 128)  # one canvas of 128 px holds them all
_DIGIT_PX = (18, 52)
_MAX_DIGITS = 5
_TRIES = 20
_OVERLAP_SHARE = 0.125
_MAX_OVERLAP = 0.25  # share of the smaller box
_MIN_VISIBLE = 0.5  # share of a covered digit's mask
_CONTRAST = 90  # levels between a digit and the background's mean


_Box = tuple[int, int, int, int]  # top, left, height, width
_Placed = tuple[int, _Box, np.ndarray]  # label, box, mask of a digit


def example_id(split: str, number: int) -> str:
  """Return the stable id of a scene: `test_0042.png`."""
  return f"{split}_{number:04d}.png"


def sources(split: str, seed: int = 0) -> list[objects.Source]:
  """List all scenes of a split, which are drawn when they are read."""
  return [
    objects.Source(
      example_id(split, n),
      image_id=n + 1,
      picture=Scene(split, n, seed),
      annotation=Scene(split, n, seed),
    )
    for n in range(COUNTS[split])
  ]


@dataclasses.dataclass(frozen=True)
class Scene(source.Part):
  """A scene, drawn when it is asked for."""

  split: str
  number: int
  seed: int

  def read(self) -> np.ndarray:
    """Return the picture: uint8 `[H, W, 3]`."""
    return draw(self.split, self.number, self.seed)[0]

  def objects_in(self, size: tuple[int, int]) -> tuple[objects.Object, ...]:
    """Return the picture's objects; its size is known and not used."""
    del size
    return draw(self.split, self.number, self.seed)[1]


@functools.lru_cache(maxsize=64)  # a thread asks for its picture, then objects
def draw(
  split: str, number: int, seed: int = 0
) -> tuple[np.ndarray, tuple[objects.Object, ...]]:
  """Draw one scene: uint8 `[H, W, 3]` and its objects."""
  name = example_id(split, number)
  dice = drawing.Dice("digits_detection", "scene", name, seed)
  height = _SIDES_PX[dice.integer(0, len(_SIDES_PX) - 1)]
  width = _SIDES_PX[dice.integer(0, len(_SIDES_PX) - 1)]
  canvas = _background(dice, height, width)
  # Integers: a float sum may be ordered differently elsewhere.
  mean = canvas.astype(np.int64).sum(axis=(0, 1)) / (height * width)
  rows = digits.rows(split)
  placed: list[_Placed] = []
  for _ in range(dice.integer(1, _MAX_DIGITS)):
    row, label = rows[dice.integer(0, len(rows) - 1)]
    alpha = _glyph(row, dice.integer(*_DIGIT_PX))
    spot = _spot(dice, alpha.shape, (height, width), [b for _, b, _ in placed])
    if spot is None:
      continue
    top, left = spot
    visible = _cover(placed, alpha, top, left, (height, width))
    if visible is None:
      continue
    placed = visible
    _paint(canvas, alpha, top, left, _colour(dice, mean))
    mask = np.zeros((height, width), bool)
    h, w = alpha.shape
    mask[top : top + h, left : left + w] = alpha >= 0.5
    placed.append((label, (top, left, h, w), mask))
  image = np.clip(np.floor(canvas + 0.5), 0, 255).astype(np.uint8)
  return image, tuple(
    _object(number, i, label, mask) for i, (label, _, mask) in enumerate(placed)
  )


def _object(
  number: int, i: int, label: int, mask: np.ndarray
) -> objects.Object:
  packed = rle.encode(mask)
  return objects.Object(
    id=(number + 1) * (_MAX_DIGITS + 1) + i,
    label=label,
    box=tuple(float(v) for v in rle.box(packed)),  # type: ignore[arg-type]
    area=float(rle.area(packed)),
    mask=packed,
  )


def _background(dice: drawing.Dice, height: int, width: int) -> np.ndarray:
  """Draw float64 `[H, W, 3]` levels: a smooth field, shapes, grain."""
  base = 30 + 195 * dice.uniform(3)
  field = drawing.stretch(dice.uniform(4, 4, 3) - 0.5, height, width)
  out = base + 90 * field
  y, x = np.arange(height)[:, None], np.arange(width)[None, :]
  for _ in range(dice.integer(2, 6)):
    cy, cx = dice.integer(0, height - 1), dice.integer(0, width - 1)
    ry, rx = dice.integer(3, 28), dice.integer(3, 28)
    if dice.uniform(1)[0] < 0.5:
      inside = (abs(y - cy) <= ry) & (abs(x - cx) <= rx)
    else:
      inside = (y - cy) ** 2 + (x - cx) ** 2 <= ry**2
    out[inside] += 70 * (dice.uniform(3) - 0.5)
  return out + 16 * (dice.uniform(height, width, 1) - 0.5)


def _glyph(row: int, side: int) -> np.ndarray:
  """Return a digit's opacity, float64 in [0, 1], cut to where it is >= 0.5."""
  taps = resizing.taps(digits.SIDE_PX, side, bicubic=True)
  levels = resizing.resized(digits.read(row)[..., 0], taps, taps)
  # Pen strokes of 8x8 digits are blurred when enlarged: sharpen the edge.
  alpha = np.clip((levels / 255.0 - 0.3) * 3.0, 0.0, 1.0)
  solid = alpha >= 0.5
  ys, xs = np.flatnonzero(solid.any(axis=1)), np.flatnonzero(solid.any(axis=0))
  return alpha[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1]


def _spot(
  dice: drawing.Dice,
  shape: tuple[int, ...],
  canvas: tuple[int, int],
  boxes: Sequence[_Box],
) -> tuple[int, int] | None:
  """Draw a top left corner that keeps clear of the boxes; None if there is no room."""
  limit = _MAX_OVERLAP if dice.uniform(1)[0] < _OVERLAP_SHARE else 0.0
  (h, w), (height, width) = shape, canvas
  for _ in range(_TRIES):
    top, left = dice.integer(0, height - h), dice.integer(0, width - w)
    if all(_overlap((top, left, h, w), b) <= limit for b in boxes):
      return top, left
  return None


def _overlap(a: _Box, b: _Box) -> float:
  """Return the common area of two boxes (top, left, h, w) over the smaller one's."""
  rows = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
  columns = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
  return max(rows, 0) * max(columns, 0) / min(a[2] * a[3], b[2] * b[3])


def _cover(
  placed: Sequence[_Placed],
  alpha: np.ndarray,
  top: int,
  left: int,
  shape: tuple[int, int],
) -> list[_Placed] | None:
  """Cut a new digit out of the earlier ones; None if it hides one."""
  new = np.zeros(shape, bool)
  h, w = alpha.shape
  new[top : top + h, left : left + w] = alpha > 0
  out = []
  for label, box, mask in placed:
    rest = mask & ~new
    if rest.sum() < _MIN_VISIBLE * mask.sum():
      return None
    out.append((label, box, rest))
  return out


def _colour(dice: drawing.Dice, mean: np.ndarray) -> np.ndarray:
  """Draw a colour whose mean level differs from the background's."""
  colour = 255 * dice.uniform(3)
  brighter = mean.mean() < 127.5
  gap = (colour - mean).mean()
  shift = _CONTRAST - gap if brighter else -_CONTRAST - gap
  if (gap < _CONTRAST) if brighter else (gap > -_CONTRAST):
    colour = colour + shift
  return np.clip(colour, 0, 255)


def _paint(
  canvas: np.ndarray,
  alpha: np.ndarray,
  top: int,
  left: int,
  colour: np.ndarray,
) -> None:
  h, w = alpha.shape
  part = canvas[top : top + h, left : left + w]
  part += alpha[..., None] * (colour - part)
