"""COCO's run-length masks: pixels, runs and the compressed string.

A mask is read column by column; its runs alternate between background and
object, background first (a run of 0 where the first pixel is the object). The
compressed string holds each run from the fourth on as its difference from the
run two before it, in groups of 5 bits, lowest first, bit 6 marking that more
follow, plus 48 (the format of pycocotools, `maskApi.c`).

Encoding and decoding are numpy's; only polygons need pycocotools, because COCO's
rasterisation (5x oversampled edges) is part of the benchmark.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from robust_tfds import errors

_GROUP_BITS = 5
_MORE = 0x20
_SIGN = 0x10
_FIRST_CHAR = 48
_MAX_GROUPS = 13  # 13 * 5 bits hold any int64


@dataclasses.dataclass(frozen=True)
class Mask:
  """A compressed mask.

  Attributes:
    counts: the compressed string, ASCII.
    size: (height, width) in px.
  """

  counts: str
  size: tuple[int, int]


def encode(mask: np.ndarray) -> Mask:
  """Compresses a mask.

  Args:
    mask: bool or integer `[H, W]`; what is not 0 is the object.

  Raises:
    UserError: not two axes.

  >>> encode(np.array([[0, 1], [0, 1]])).counts
  '22'
  """
  if np.ndim(mask) != 2:
    raise errors.UserError(
      f"A mask must be [H, W], got shape {np.shape(mask)}."
    )
  height, width = mask.shape
  pixels = (np.asarray(mask) != 0).ravel(order="F")
  changes = np.flatnonzero(pixels[1:] != pixels[:-1]) + 1
  first = [0] if pixels.size and pixels[0] else []
  edges = np.concatenate([first, changes, [pixels.size]]).astype(np.int64)
  return Mask(_compress(np.diff(edges, prepend=0)), (height, width))


def decode(mask: Mask) -> np.ndarray:
  """bool `[H, W]`.

  Raises:
    UserError: a broken string, or runs that do not fill the size.
  """
  runs = counts(mask)
  values = np.arange(len(runs)) % 2 == 1
  return np.repeat(values, runs).reshape(mask.size, order="F")


def counts(mask: Mask) -> np.ndarray:
  """The runs of a compressed mask: int64 `[N]`, background first.

  Raises:
    UserError: a broken string, or runs that do not fill the size.
  """
  return _checked(_decompress(mask.counts), mask.size)


def from_counts(runs: Sequence[int], size: Sequence[int]) -> Mask:
  """Compresses runs, as the crowds of COCO's JSON hold them.

  Args:
    runs: lengths in px, background first.
    size: (height, width).

  Raises:
    UserError: negative runs, or runs that do not fill the size.
  """
  height, width = (int(n) for n in size)
  checked = _checked(np.asarray(runs, np.int64), (height, width))
  return Mask(_compress(checked), (height, width))


def area(mask: Mask) -> int:
  """Pixels of the object."""
  return int(counts(mask)[1::2].sum())


def box(mask: Mask) -> tuple[int, int, int, int]:
  """The tight box (x, y, width, height) in px; zeros for an empty mask.

  >>> box(encode(np.array([[0, 0, 0], [0, 1, 1]])))
  (1, 1, 2, 1)
  """
  runs = counts(mask)
  ends = np.cumsum(runs)[1::2]
  starts = ends - runs[1::2]
  starts, ends = starts[starts < ends], ends[starts < ends]
  if not len(starts):
    return 0, 0, 0, 0
  height = mask.size[0]
  left, right = int(starts[0] // height), int((ends[-1] - 1) // height)
  if np.any(starts // height != (ends - 1) // height):
    top, bottom = 0, height - 1  # a run over a column's end touches both
  else:
    top, bottom = int((starts % height).min()), int(((ends - 1) % height).max())
  return left, top, right - left + 1, bottom - top + 1


def from_polygons(
  polygons: Sequence[Sequence[float]], size: tuple[int, int]
) -> Mask:
  """Rasterises the polygons of one object as COCO does; their union.

  Args:
    polygons: each x0, y0, x1, y1, ... in px, at least three points.
    size: (height, width).

  Raises:
    UserError: a polygon of fewer than three points, an odd number of values or
      values that are not finite.
    MissingPackageError: pycocotools is not installed.
  """
  for polygon in polygons:
    # pycocotools takes four numbers for a box without a word.
    if len(polygon) < 6 or len(polygon) % 2 or not np.all(np.isfinite(polygon)):
      raise errors.UserError(
        "A polygon needs at least three points x, y of finite numbers, got"
        f" {len(polygon)} values: {list(polygon)[:8]}."
      )
  if not polygons:
    raise errors.UserError("A mask needs at least one polygon, got none.")
  try:
    from pycocotools import mask as coco
  except ImportError as e:
    raise errors.missing_package(
      "pycocotools", "detection", "Making masks of polygons"
    ) from e
  parts = coco.frPyObjects([list(map(float, p)) for p in polygons], *size)
  merged = coco.merge(parts)
  return Mask(merged["counts"].decode("ascii"), size)


def _checked(runs: np.ndarray, size: tuple[int, int]) -> np.ndarray:
  height, width = size
  if runs.ndim != 1 or np.any(runs < 0) or runs.sum() != height * width:
    raise errors.UserError(
      f"The runs of a mask of {height} x {width} px must be >= 0 and add up to"
      f" {height * width}, got {runs.size} runs with sum {runs.sum()}."
    )
  return runs


def _compress(runs: np.ndarray) -> str:
  values = runs.astype(np.int64)
  values[3:] -= runs[1:-2]
  shifts = _GROUP_BITS * np.arange(_MAX_GROUPS)
  groups = (values[:, None] >> shifts) & 0x1F
  # A group is the last when what remains is the extension of its sign bit.
  rest = values[:, None] >> (shifts + _GROUP_BITS)
  last = rest == np.where(groups & _SIGN, -1, 0)
  before = np.cumsum(last, axis=1) - last == 0
  chars = groups + np.where(last, 0, _MORE) + _FIRST_CHAR
  return chars[before].astype(np.uint8).tobytes().decode("ascii")


def _decompress(text: str) -> np.ndarray:
  chars = np.frombuffer(text.encode("latin-1", "replace"), np.uint8)
  codes = chars.astype(np.int64) - _FIRST_CHAR
  if np.any((codes < 0) | (codes > 0x3F)) or (len(codes) and codes[-1] & _MORE):
    raise errors.UserError(f"Broken compressed mask: {text[:40]!r} ...")
  if not len(codes):
    return codes
  last = (codes & _MORE) == 0
  ends = np.flatnonzero(last)
  starts = np.concatenate([[0], ends[:-1] + 1])
  lengths = ends - starts + 1
  if lengths.max() >= _MAX_GROUPS:
    raise errors.UserError(f"Broken compressed mask: {text[:40]!r} ...")
  place = np.arange(len(codes)) - np.repeat(starts, lengths)
  values = np.add.reduceat((codes & 0x1F) << (_GROUP_BITS * place), starts)
  negative = (codes[ends] & _SIGN) != 0
  values -= np.where(negative, 1 << (_GROUP_BITS * lengths), 0)
  values[1::2] = np.cumsum(values[1::2])
  values[2::2] = np.cumsum(values[2::2])
  return values
