"""Crops by key: how a training picture becomes the square that a network sees.

A rule is a name, recorded in a run's facts:

  random_resized224     a part of 8 to 100 % of the picture's area, of a shape from
                        3:4 to 4:3, resized to 224 x 224: ImageNet's usual crop
  short256_random224    the shorter side to 256, then a crop anywhere

with any numbers, and `_bicubic` at the end for bicubic resampling; or a rule of
`robust_tfds.building.geometry`, which draws nothing. Draws depend on the key
alone: neither on batches nor on workers. Crops after padding, flips and all
that needs no original size belong to the recipes, on the device.
"""

import math
import re

import numpy as np

from robust_tfds import errors, resizing
from robust_tfds.building import geometry
from robust_tfds.corruptions import seeding

_RULE = re.compile(
  r"(?:random_resized(?P<side>\d+)|short(?P<short>\d+)_random(?P<crop>\d+))"
  r"(?P<bicubic>_bicubic)?"
)
_STREAM = 0x43524F50  # marks these draws apart from those on the device
# torchvision.transforms.RandomResizedCrop: Szegedy et al. 2015, section 6.
_SCALE, _RATIO, _TRIES = (0.08, 1.0), (3 / 4, 4 / 3), 10
_FRAMES = 8  # frames of a clip that are cropped at a time

Box = tuple[int, int, int, int]  # left, top, right, bottom, px


def is_random(rule: str) -> bool:
  """Return whether a rule draws at random.

  >>> is_random("random_resized224"), is_random("short256_crop224")
  (True, False)
  """
  return bool(_RULE.fullmatch(rule))


def shape(rule: str) -> tuple[int | None, int | None, int]:
  """Return the shape of the pictures that a rule makes; None if it varies.

  Raises:
    UserError: the rule is unknown, or its crop is larger than the resized
      picture.
  """
  parts = _RULE.fullmatch(rule)
  if not parts:
    return geometry.shape(rule)
  if parts["short"]:  # with the same limits
    return geometry.shape(f"short{parts['short']}_crop{parts['crop']}")
  return geometry.shape(f"squash{parts['side']}")


def resized_px(rule: str) -> int:
  """Return the shorter side that a rule resizes pictures to, px; 0 for none.

  >>> resized_px("random_resized224"), resized_px("short256_crop224")
  (224, 256)
  """
  if parts := _RULE.fullmatch(rule):
    return int(parts["side"] or parts["short"])
  large = 4096
  size = min(geometry.fit(rule, large, large).size)
  return size if size < large else 0


def apply(
  pixels: np.ndarray, rule: str, key: np.ndarray, *, name: str = ""
) -> np.ndarray:
  """Apply a rule to a picture, or by one draw to all frames of a clip.

  Args:
    pixels: uint8 `[..., H, W, 3]`.
    rule: see the header.
    key: uint32 `[2]`, the example's key in its epoch.
    name: the example's name, for refusals.

  Returns:
    uint8 `[..., h, w, 3]`.

  Raises:
    UserError: the rule is unknown, or the picture is too small or long for it.
  """
  if pixels.ndim == 4:
    runs = [pixels[i : i + _FRAMES] for i in range(0, len(pixels), _FRAMES)]
    return np.concatenate(
      [_apply_to_frames(run, rule, key, name) for run in runs]
    )
  parts = _RULE.fullmatch(rule)
  if not parts:
    with errors.prefixed(name):
      return geometry.apply(pixels, rule)
  bicubic = bool(parts["bicubic"])
  height, width = pixels.shape[:2]
  if parts["side"]:
    side = int(parts["side"])
    left, top, right, bottom = resized_box(width, height, key)
    part = pixels[top:bottom, left:right]
    down, across = (resizing.taps(n, side, bicubic) for n in part.shape[:2])
    return resizing.resized(part, down, across)
  with errors.prefixed(name):
    way = geometry.fit(f"short{parts['short']}", width, height)
  crop = placed_box(*way.size, int(parts["crop"]), key)
  way = way._replace(crop=crop, bicubic=bicubic)
  return resizing.resized(pixels, *way.taps)


def apply_to_mask(
  mask: np.ndarray, rule: str, key: np.ndarray, *, name: str = ""
) -> np.ndarray:
  """Cut class ids as `apply` cuts their picture, each pixel the nearest one.

  Args:
    mask: uint8 `[H, W]`; the other arguments are those of `apply`.

  Returns:
    uint8 `[h, w]`.
  """
  height, width = mask.shape
  box, size = (0, 0, width, height), (width, height)
  parts = _RULE.fullmatch(rule)
  if parts and parts["side"]:
    box, size = resized_box(width, height, key), (int(parts["side"]),) * 2
  crop = (0, 0, *size)
  if not parts or not parts["side"]:
    with errors.prefixed(name):
      way = geometry.fit(
        f"short{parts['short']}" if parts else rule, width, height
      )
    box, size, crop = way.box, way.size, way.crop
    if parts:
      crop = placed_box(*size, int(parts["crop"]), key)
  return mask[np.ix_(*(_nearest(box, size, crop, axis) for axis in (1, 0)))]


def _nearest(
  box: Box, size: tuple[int, int], crop: Box, axis: int
) -> np.ndarray:
  """Return the places along an axis, 0 across or 1 down, that a rule shows."""
  start, length = box[axis], box[axis + 2] - box[axis]
  shown = np.arange(crop[axis], crop[axis + 2])
  return start + ((shown + 0.5) * length / size[axis]).astype(int)


def _apply_to_frames(
  frames: np.ndarray, rule: str, key: np.ndarray, name: str
) -> np.ndarray:
  """Apply a rule to frames `[T, H, W, 3]` as to one picture of many channels."""
  count, height, width, channels = frames.shape
  stacked = np.moveaxis(frames, 0, 2).reshape(height, width, -1)
  out = apply(stacked, rule, key, name=name)
  return np.moveaxis(out.reshape(*out.shape[:2], count, channels), 2, 0)


def resized_box(width: int, height: int, key: np.ndarray) -> Box:
  """Draw the box that `random_resized` shows, as torchvision does, by the key.

  It tries an area and a shape ten times; if none fits, it takes the centre, in
  the allowed shape that is nearest to the picture's.
  """
  draws = iter(_draws(key, 4 * _TRIES))
  low, high = (math.log(ratio) for ratio in _RATIO)
  for _ in range(_TRIES):
    area = width * height * (_SCALE[0] + (_SCALE[1] - _SCALE[0]) * next(draws))
    ratio = math.exp(low + (high - low) * next(draws))
    w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
    down, across = next(draws), next(draws)
    if 0 < w <= width and 0 < h <= height:
      top, left = int(down * (height - h + 1)), int(across * (width - w + 1))
      return left, top, left + w, top + h
  w = min(width, round(height * _RATIO[1]))
  h = min(height, round(width / _RATIO[0]))
  left, top = (width - w) // 2, (height - h) // 2
  return left, top, left + w, top + h


def placed_box(width: int, height: int, side: int, key: np.ndarray) -> Box:
  """Draw a square box anywhere in a picture of this size."""
  down, across = _draws(key, 2)
  top, left = int(down * (height - side + 1)), int(across * (width - side + 1))
  return left, top, left + side, top + side


def _draws(key: np.ndarray, count: int) -> list[float]:
  """Draw uniforms in [0, 1), from the host's stream of a key."""
  (own,) = seeding.frame_keys(key, np.array([_STREAM]))
  return (seeding.words(own, count) * 2.0**-32).tolist()
