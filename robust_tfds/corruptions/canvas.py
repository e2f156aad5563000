"""Canvases: a few sizes that pictures of any size are padded to.

A compiled program has fixed shapes. Pictures lie in the top-left corner of a
canvas and their size travels as data, so that the about 800 sizes of COCO val
compile ten programs a corruption, and give the same pixels as without padding.
`shape` never crosses a power of two of the longer side, since fog's map has the
size of the next power of two (docs/evidence/specs/corruptions.md section 3) and would be
drawn larger than necessary. `few` does so if another compilation would take
longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from robust_tfds.reading import limits

_SQUARE = 256  # px; up to here one square canvas per power of two
_SMALLEST = 32
MOST = 12  # canvases of one folder
# Pixels that can be corrupted while one program is compiled: 1.2 s at 34 ns,
# means of the 19 corruptions in a canvas of 1024 x 1024 px on a core.
_COMPILE_PX = 35_000_000

Shape = tuple[int, int]  # height and width, px


def shape(height: int, width: int) -> tuple[int, int]:
  """Return the canvas of a picture: (height, width) in px, at least the picture's.

  Raises:
    UserError: the picture is so long and thin that its canvas has more pixels
      than a picture may have (`reading.limits.PICTURE_PIXELS`).

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


def few(levels: Mapping[Shape, int], most: int = MOST) -> list[Shape]:
  """Return canvases for pictures of many sizes: as many as are worth compiling.

  Two canvases are merged into one that holds both, the cheapest pair first,
  while the additional pixels take less time than a compilation, or there are
  more than `most`.

  Args:
    levels: number of pictures times severities for each canvas by `shape`.
    most: most canvases; only those that together would exceed the limit of a
      picture's pixels are not merged.

  Returns:
    The canvases, the smallest first.

  >>> few({(480, 640): 5, (640, 480): 5, (128, 128): 5})
  [(640, 640)]
  >>> few({(480, 640): 5000, (640, 480): 5000, (128, 128): 5})
  [(480, 640), (640, 480)]
  """
  counts = dict(levels)
  while pairs := [
    pair
    for pair in itertools.combinations(counts, 2)
    if _pixels(_joint(*pair)) <= limits.PICTURE_PIXELS
  ]:
    first, second = min(pairs, key=lambda pair: _added(pair, counts))
    too_many = len(counts) > most
    if not too_many and _added((first, second), counts) > _COMPILE_PX:
      break
    both = counts.pop(first) + counts.pop(second)
    joint = _joint(first, second)
    counts[joint] = counts.get(joint, 0) + both
  return sorted(counts, key=lambda shape: (_pixels(shape), shape))


def _joint(first: Shape, second: Shape) -> Shape:
  return max(first[0], second[0]), max(first[1], second[1])


def _pixels(canvas: Shape) -> int:
  return canvas[0] * canvas[1]


def _added(pair: tuple[Shape, Shape], counts: Mapping[Shape, int]) -> int:
  """Count the additional pixels that are corrupted if two canvases are merged."""
  joint = _pixels(_joint(*pair))
  return sum((joint - _pixels(c)) * counts[c] for c in pair)


def smallest(canvases: Iterable[Shape], height: int, width: int) -> Shape:
  """Return the smallest of some canvases that holds a picture, else its own by `shape`.

  Raises:
    UserError: as for `shape`.
  """
  fit = [c for c in canvases if c[0] >= height and c[1] >= width]
  return min(fit, key=_pixels) if fit else shape(height, width)


def pad(image: np.ndarray, canvas: Shape) -> tuple[np.ndarray, np.ndarray]:
  """Place a picture in a canvas, and return its size.

  Args:
    image: `[H, W, C]`.
    canvas: shape of the canvas, at least as high and wide.

  Returns:
    The canvas, zeros outside the picture, and int32 `[2]` (height, width).
  """
  height, width = image.shape[:2]
  rows, columns = canvas
  margin = ((0, rows - height), (0, columns - width), (0, 0))
  return np.pad(image, margin), np.array([height, width], np.int32)


def stack(
  images: Sequence[np.ndarray] | np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
  """Stack pictures of any sizes in one canvas size that holds them all.

  Args:
    images: one or more, each uint8 `[h, w, 3]`.

  Returns:
    Canvases uint8 `[B, H, W, 3]` and sizes int32 `[B, 2]`, (height, width).
  """
  sizes = np.array([i.shape[:2] for i in images], np.int32)
  height, width = shape(*sizes.max(axis=0).tolist())
  out = np.zeros((len(images), height, width, 3), np.uint8)
  for canvas, image in zip(out, images):
    canvas[: image.shape[0], : image.shape[1]] = image
  return out, sizes
