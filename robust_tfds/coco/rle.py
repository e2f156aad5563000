"""COCO's run-length masks: pixels, runs and the compressed string.

A mask is read column by column; its runs alternate between background and
object, background first (a run of 0 if the first pixel belongs to the object).
The compressed string holds each run from the fourth on as its difference from
the run two before it, in groups of 5 bits, lowest first, bit 6 marking that
more follow, plus 48 (the format of pycocotools, `maskApi.c`).

Encoding and decoding use numpy; only polygons need pycocotools, because COCO's
rasterisation (5x oversampled edges) is part of the benchmark. Its C code trusts
its input: coordinates of 1e9 crash it, runs beyond the picture never end. All
input
  of it,
or of another library of COCO's masks, passes `check_size`, `check_polygons` and
`first_broken` first.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds import errors

_GROUP_BITS = 5
_MORE = 0x20
_SIGN = 0x10
_FIRST_CHAR = 48
_MAX_GROUPS = 13  # 13 * 5 bits hold any int64
_MAX_PIXELS = (
  1 << 32
)  # limit of a picture; pycocotools counts pixels in 32 bits
_LONGEST_SIDE = 65_535  # px, JPEG's
# The C code samples a polygon's outline 5 times per pixel of its length.
_LONGEST_OUTLINE_PX = 1_000_000
_ONE = np.zeros(1, np.int64)  # start of a single mask
_CHARS_AT_ONCE = 1 << 17  # characters of compressed masks that fit into a cache


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
  """Compress a mask.

  Args:
    mask: bool or integer `[H, W]`; the object is where it is not 0.

  Raises:
    UserError: the mask does not have two axes.

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
  return Mask(compressed(np.diff(edges, prepend=0), _ONE)[0], (height, width))


def decode(mask: Mask) -> np.ndarray:
  """Decode a mask to bool `[H, W]`.

  Raises:
    UserError: the string is broken, or the runs do not fill the size.
  """
  runs = counts(mask)
  values = np.arange(len(runs)) % 2 == 1
  return np.repeat(values, runs).reshape(mask.size, order="F")


def counts(mask: Mask) -> np.ndarray:
  """Return the runs of a compressed mask: int64 `[N]`, background first.

  Raises:
    UserError: the string is broken, or the runs do not fill the size.
  """
  fault = first_broken([mask.counts], [mask.size])
  if fault:
    raise errors.UserError(fault[1])
  return _decompress([mask.counts])[0]


def first_broken(
  texts: Sequence[str], sizes: Sequence[Sequence[int]]
) -> tuple[int, str] | None:
  """Find the first broken one of many compressed masks, read all at once.

  Args:
    texts: the compressed strings.
    sizes: (height, width) of each; see `check_size`.

  Returns:
    Its index and its fault in words; None if all are sound: they have
    characters of the format and runs >= 0 that add up to the size.
  """
  step = max(1, int(_CHARS_AT_ONCE * len(texts) / (sum(map(len, texts)) + 1)))
  for first in range(0, len(texts), step):
    part = slice(first, first + step)
    fault = _first_broken(texts[part], sizes[part])
    if fault:
      return first + fault[0], fault[1]
  return None


def check_size(size: Any) -> tuple[int, int]:
  """Return the (height, width) of a mask, after checks.

  Raises:
    UserError: they are not two whole numbers from 1 to 65,535.
  """
  if type(size) is list and list(map(type, size)) == [int, int]:
    if 0 < size[0] <= _LONGEST_SIDE and 0 < size[1] <= _LONGEST_SIDE:
      return size[0], size[1]
  whole = (int, np.integer)
  if (
    not isinstance(size, (list, tuple, np.ndarray))
    or len(size) != 2
    or not all(isinstance(n, whole) and not isinstance(n, bool) for n in size)
    or not all(1 <= n <= _LONGEST_SIDE for n in size)
  ):
    raise errors.UserError(
      f"a mask's size is (height, width), two whole numbers from 1 to"
      f" {_LONGEST_SIDE}, got {_quoted(size)}."
    )
  return int(size[0]), int(size[1])


def from_counts(runs: Sequence[int], size: Sequence[int]) -> Mask:
  """Compress runs, as the crowds of COCO's JSON hold them.

  Args:
    runs: lengths in px, background first.
    size: (height, width).

  Raises:
    UserError: the runs are no list of whole numbers, are negative, or do not
      fill the size.
  """
  height, width = check_size(size)
  numbers = _array(runs)
  if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
    raise errors.UserError(
      "the runs of a mask are a list of whole numbers or COCO's compressed"
      f" string, got {_quoted(runs)}."
    )
  runs_px = numbers.astype(np.int64)
  # The sum of a few 64-bit numbers may overflow: each is checked first.
  if np.any((runs_px < 0) | (runs_px > height * width)) or (
    runs_px.sum() != height * width
  ):
    total = sum(map(int, runs))
    raise errors.UserError(_mismatch(len(runs_px), total, (height, width)))
  return Mask(compressed(runs_px, _ONE)[0], (height, width))


def compressed(runs: np.ndarray, firsts: np.ndarray) -> list[str]:
  """Return the compressed strings of many masks at once.

  Args:
    runs: int64 `[R]`, runs of one mask after the other, background first.
    firsts: int64 `[N]`, start of each mask; each has at least one run.

  >>> compressed(np.array([2, 3, 1, 4, 0, 4]), np.array([0, 4]))
  ['2311', '04']
  """
  values = runs.astype(np.int64)
  values[2:] -= runs[:-2]
  for i in range(3):  # a mask's first three runs are stored directly
    place = firsts + i
    place = place[place < np.append(firsts[1:], len(runs))]
    values[place] = runs[place]
  groups = _groups(values)
  ends = np.cumsum(groups)
  chars = np.empty(ends[-1] if len(ends) else 0, np.uint8)
  at, left = ends - groups, groups
  while len(at):
    more = left > 1
    chars[at] = (values & (_MORE - 1)) + _MORE * more + _FIRST_CHAR
    at, left = at[more] + 1, left[more] - 1
    values = values[more] >> _GROUP_BITS
  text = chars.tobytes().decode("ascii")
  cuts = np.append((ends - groups)[firsts], len(text)).tolist()
  return [text[i:j] for i, j in zip(cuts[:-1], cuts[1:])]


def area(mask: Mask) -> int:
  """Count the pixels of the object."""
  return int(counts(mask)[1::2].sum())


def box(mask: Mask) -> tuple[int, int, int, int]:
  """Return the tight box (x, y, width, height) in px; zeros for an empty mask.

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


def check_polygons(polygons: Any, size: tuple[int, int]) -> None:
  """Refuse polygons that the C code must not be given.

  Args:
    polygons: polygons of one object, each x0, y0, x1, y1, ... in px.
    size: (height, width) of the picture.

  Raises:
    UserError: there is no polygon; one has fewer than three points, an odd
      number of values, or values that are not finite or lie more than a whole
      picture outside the picture; or the outlines are longer than a million px.
  """
  if not isinstance(polygons, (list, tuple)) or not polygons:
    raise errors.UserError(
      f"A mask needs at least one polygon, got {_quoted(polygons)}."
    )
  length = 0.0
  for polygon in polygons:
    points = _points(polygon)
    _check_near(points, size)
    length += 3 * max(size) * len(points)  # at the most; seldom much
  if length > _LONGEST_OUTLINE_PX:
    length = sum(_length(_points(polygon)) for polygon in polygons)
  if length > _LONGEST_OUTLINE_PX:
    raise errors.UserError(
      f"The polygons' outlines are {length:.0f} px long, the limit is"
      f" {_LONGEST_OUTLINE_PX}: no object's outline."
    )


def from_polygons(
  polygons: Sequence[Sequence[float]], size: tuple[int, int]
) -> Mask:
  """Rasterise the polygons of one object as COCO does, and return their union.

  Args:
    polygons: each x0, y0, x1, y1, ... in px, at least three points.
    size: (height, width).

  Raises:
    UserError: see `check_size` and `check_polygons`.
    MissingPackageError: pycocotools is not installed.
  """
  size = check_size(size)
  check_polygons(polygons, size)
  try:
    from pycocotools import mask as coco
  except ImportError as e:
    raise errors.missing_package_error(
      "pycocotools", "detection", "Making masks of polygons"
    ) from e
  parts = coco.frPyObjects([list(map(float, p)) for p in polygons], *size)
  merged = coco.merge(parts)
  return Mask(merged["counts"].decode("ascii"), size)


def _first_broken(
  texts: Sequence[str], sizes: Sequence[Sequence[int]]
) -> tuple[int, str] | None:
  broken = _first_malformed(texts)
  if broken is not None:
    return broken, f"Broken compressed mask: {texts[broken][:40]!r} ..."
  runs, firsts = _decompress(texts)
  totals = np.add.reduceat(runs, firsts)
  lowest = np.minimum.reduceat(runs, firsts)
  pixels = np.prod(np.asarray(sizes, np.int64).reshape(-1, 2), axis=1)
  bad = (totals != pixels) | (lowest < 0)
  if not bad.any():
    return None
  place = int(np.argmax(bad))
  number = int(np.diff(firsts, append=len(runs))[place])
  height, width = sizes[place]
  return place, _mismatch(number, int(totals[place]), (height, width))


def _points(polygon: Any) -> np.ndarray:
  """Return a polygon as `[N, 2]`."""
  values = _array(polygon)
  # pycocotools silently takes four numbers for a box.
  plain = values.dtype.kind in "iuf" and values.ndim == 1
  if plain and values.size >= 6 and values.size % 2 == 0:
    if np.isfinite(values.sum()) or np.all(np.isfinite(values)):
      return values.reshape(-1, 2)
  raise errors.UserError(
    "A polygon needs at least three points x, y of finite numbers, got"
    f" {_quoted(polygon)}."
  )


def _check_near(points: np.ndarray, size: tuple[int, int]) -> None:
  height, width = size
  side = min(size)
  if points.min() >= -side and points.max() <= 2 * side:
    return
  low, high = points.min(axis=0), points.max(axis=0)
  if np.any(low < (-width, -height)) or np.any(high > (2 * width, 2 * height)):
    raise errors.UserError(
      f"A polygon spans x {low[0]:g} to {high[0]:g} and y {low[1]:g} to"
      f" {high[1]:g} px, far outside the picture of {width} x {height} px. Is it"
      " another picture's, or scaled?"
    )


def _length(points: np.ndarray) -> float:
  """Return the length in px that COCO's rasterisation walks along an outline."""
  edges = np.diff(points.astype(np.float64), axis=0, append=points[:1])
  return float(np.abs(edges).max(axis=1).sum())


def _array(values: Any) -> np.ndarray:
  """Return a list as an array; its dtype is object if it holds no numbers."""
  nothing = np.array(None)
  if isinstance(values, np.ndarray):
    return values
  if not isinstance(values, (list, tuple)):
    return nothing
  if not set(map(type, values)).isdisjoint((bool, np.bool_)):
    return nothing  # NumPy takes them for 0 and 1
  try:
    return np.asarray(values)
  except ValueError:  # lists of unequal lengths
    return nothing


def _quoted(value: Any) -> str:
  """Return a value as text for a message; a long one is cut."""
  count = ""
  if isinstance(value, (list, tuple)):
    count = f"{len(value)} values: " if len(value) > 8 else ""
    value = list(value)[:8]
  text = repr(value)
  return count + (text if len(text) <= 100 else text[:97] + "...")


def _mismatch(runs: int, total: int, size: tuple[int, int]) -> str:
  height, width = size
  return (
    f"The runs of a mask of {height} x {width} px must be >= 0 and add up to"
    f" {height * width}, got {runs} runs with sum {total}."
  )


def _groups(values: np.ndarray) -> np.ndarray:
  """Return the number of 5-bit groups of each value with its sign: int64 `[N]`."""
  size = np.where(values < 0, ~values, values)
  out = np.ones(len(values), np.int64)
  bits = _GROUP_BITS - 1
  while np.any(size >> bits):
    out += (size >> bits) > 0
    bits += _GROUP_BITS
  return out


def _codes(texts: Sequence[str]) -> np.ndarray:
  """Return the characters of all strings as numbers, uint8; 0 to 63 if sound."""
  joined = "".join(texts).encode("utf-8", "surrogatepass")
  return np.frombuffer(joined, np.uint8) - np.uint8(_FIRST_CHAR)


def _first_malformed(texts: Sequence[str]) -> int | None:
  """Return the index of the first malformed string; None if all are well-formed."""
  if all(texts) and all(map(str.isascii, texts)):
    codes = _codes(texts)
    ends = np.cumsum([len(text) for text in texts])
    groups = np.diff(np.flatnonzero(codes < _MORE), prepend=-1)
    if (
      codes.max() < 2 * _MORE
      and not np.any(codes[ends - 1] & _MORE)
      and groups.max() < _MAX_GROUPS
    ):
      return None
  if len(texts) == 1:
    return 0
  return next(i for i, t in enumerate(texts) if _first_malformed([t]) == 0)


def _decompress(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
  """Decompress well-formed strings to their runs, one after the other, and
  their starts.

  Returns:
    Runs int64 `[R]` of all strings, and starts int64 `[len(texts)]`.
  """
  codes = _codes(texts)
  ends = np.flatnonzero(codes < _MORE)
  final = np.cumsum([len(text) for text in texts]) - 1
  firsts = np.concatenate([[0], np.searchsorted(ends, final)[:-1] + 1])
  return _runs(_differences(codes, ends), firsts), firsts


def _differences(codes: np.ndarray, ends: np.ndarray) -> np.ndarray:
  """Return the numbers in the groups of 5 bits, int64 for each of the `ends`."""
  starts = np.concatenate([[0], ends[:-1] + 1])
  lengths = ends - starts + 1
  bits = codes & np.uint8(_MORE - 1)
  out = bits[starts].astype(np.int64)
  longer, group = np.flatnonzero(lengths > 1), 1
  while len(longer):
    part = bits[starts[longer] + group].astype(np.int64)
    out[longer] |= part << (_GROUP_BITS * group)
    group += 1
    longer = longer[lengths[longer] > group]
  negative = np.flatnonzero(codes[ends] & _SIGN)
  out[negative] -= np.int64(1) << (_GROUP_BITS * lengths[negative])
  # No run of a picture has more pixels; sums of many must not overflow.
  return np.clip(out, -_MAX_PIXELS, _MAX_PIXELS)


def _runs(differences: np.ndarray, firsts: np.ndarray) -> np.ndarray:
  """Return the runs: from a mask's fourth run on, the run two before is added
  to the difference.
  """
  sums = np.zeros(
    len(differences) + 2, np.int64
  )  # [i + 2]: sum of i, i - 2, ...
  sums[2::2] = np.cumsum(differences[::2])
  sums[3::2] = np.cumsum(differences[1::2])
  lengths = np.diff(firsts, append=len(differences))
  odd = (np.arange(len(differences)) - np.repeat(firsts, lengths)) & 1 == 1
  # The sum before a mask's second run, and that before its third.
  before = np.where(
    odd,
    np.repeat(sums[firsts + 1], lengths),
    np.repeat(sums[firsts + 2], lengths),
  )
  before[firsts] = sums[firsts]
  return sums[2:] - before
