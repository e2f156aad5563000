"""Canvases: a few sizes that pictures of any size are padded to.

A compiled program has fixed shapes. Pictures lie in the top-left corner of a
canvas and their size travels as data, so that the about 800 sizes of COCO val
compile ten programs a corruption, and give the same pixels as without padding.
A canvas never straddles a power of two of the longer side: fog's map has the
next power of two's size (docs/specs/corruptions.md section 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robust_tfds.reading import limits

_SQUARE = 256  # px; up to here one square canvas a power of two
_SMALLEST = 32


def shape(height: int, width: int) -> tuple[int, int]:
  """The canvas of a picture: (height, width) in px, at least the picture's.

  Raises:
    UserError: a long thin picture, whose canvas has more pixels than a picture
      may have (`reading.limits.PICTURE_PIXELS`).

  >>> shape(480, 640), shape(640, 427), shape(333, 500), shape(20, 31)
  ((480, 640), (640, 480), (384, 512), (32, 32))
  """
  longer, shorter = max(height, width), min(height, width)
  power = max(1 << (longer - 1).bit_length(), _SMALLEST)
  if power <= _SQUARE:
    return power, power
  # Above 512, 1024, ... in steps of a quarter of the last power.
  step = power // 8
  long_side = power if power == 2 * _SQUARE else -(-longer // step) * step
  flat = long_side * 3 // 4
  short_side = flat if shorter <= flat else long_side
  limits.check(
    long_side * short_side,
    limits.PICTURE_PIXELS,
    f"A picture of {width} x {height} px",
    f"pixels in the canvas ({long_side} x {short_side}) that it is corrupted in",
  )
  if height >= width:
    return long_side, short_side
  return short_side, long_side


def pad(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """A picture in its canvas, and its size.

  Args:
    image: `[H, W, C]`.

  Returns:
    The canvas, zeros outside the picture, and int32 `[2]` (height, width).
  """
  height, width = image.shape[:2]
  rows, columns = shape(height, width)
  margin = ((0, rows - height), (0, columns - width), (0, 0))
  return np.pad(image, margin), np.array([height, width], np.int32)


def stack(
  images: Sequence[np.ndarray] | np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
  """Pictures of any sizes in one canvas that holds them all.

  Args:
    images: at least one, each uint8 `[h, w, 3]`.

  Returns:
    uint8 `[B, H, W, 3]` and int32 `[B, 2]`, the (height, width) of each.
  """
  sizes = np.array([i.shape[:2] for i in images], np.int32)
  height, width = shape(*sizes.max(axis=0).tolist())
  out = np.zeros((len(images), height, width, 3), np.uint8)
  for canvas, image in zip(out, images):
    canvas[: image.shape[0], : image.shape[1]] = image
  return out, sizes
