"""Checked columns of COCO's rows: images, annotations, detections.

COCO's tools accept fractions as ids, words as flags and NaN in boxes, and
compute with them. Here each field of many rows becomes one array, and the first
row that does not fit is named. Rows come from JSON or from Python: NumPy's
numbers are numbers, `true` is not; a whole number may be written 5.0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds import errors
from robust_tfds.coco import rle

# px; sixteen times the longest side of a JPEG. Detectors do return boxes
# outside their picture, but none this far.
FARTHEST_PX = 1e6
_MAX_ID = 1 << 63
_SHOWN = 80  # characters of a value that a message repeats


@dataclasses.dataclass(frozen=True)
class Rows:
  """The rows of one kind.

  Attributes:
    rows: the rows.
    noun: noun for a row, e.g. `Annotation`.
    key: how a message names a row: `id` by its id, another field by its place
      and that field, '' by its place.
  """

  rows: Sequence[Mapping[str, Any]]
  noun: str
  key: str = ""

  @classmethod
  def from_list(
    cls, rows: Any, noun: str, key: str = "", field: str = ""
  ) -> Rows:
    """Return the rows after checking that each is an object.

    Args:
      rows: the rows.
      noun: noun for a row.
      key: see the class.
      field: field that holds the rows, for errors.

    Raises:
      UserError: `rows` is no list, or a row is no object.
    """
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(
      rows, Iterable
    ):
      raise errors.UserError(
        f"{field or noun}: a list of objects expected, got {quoted(rows)}."
      )
    rows = list(rows)
    if not set(map(type, rows)) <= {dict}:
      for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
          raise errors.UserError(
            f"{f'{field}: ' if field else ''}{noun} {i} is no object:"
            f" {quoted(row)}."
          )
    return cls(rows, noun, key)

  def name(self, place: int) -> str:
    """Return the name of a row in a message."""
    if not self.key:
      return f"{self.noun} {place}"
    value = quoted(self.rows[place].get(self.key, place))
    if self.key == "id":
      return f"{self.noun} {value}"
    return f"{self.noun} {place} ({self.key} {value})"

  def values(self, key: str, default: Any = None) -> list[Any]:
    """Return a field of every row.

    Args:
      key: key of the field.
      default: value for rows without the field; None: every row needs it.

    Raises:
      UserError: a row has no such field.
    """
    if default is not None:
      return [row.get(key, default) for row in self.rows]
    try:
      return [row[key] for row in self.rows]
    except KeyError:
      place = next(i for i, row in enumerate(self.rows) if key not in row)
      has = ", ".join(map(str, self.rows[place]))
      raise errors.UserError(
        f"{self.noun} {place} has no {key!r}; it has {quoted(has)[1:-1]}."
      ) from None

  def ids(self, key: str) -> list[int]:
    """Return a field of whole numbers >= 0 as Python's."""
    values = self.values(key)
    if set(map(type, values)) <= {int}:
      if not values or (min(values) >= 0 and max(values) < _MAX_ID):
        return values
    return [self._id(i, key, value) for i, value in enumerate(values)]

  def flags(self, key: str) -> list[bool]:
    """Return a field of 0 and 1 (or false and true); 0 if it is missing."""
    values = self.values(key, 0)
    for i, value in enumerate(values):
      kind = isinstance(value, (int, float, np.integer, np.floating, np.bool_))
      if not kind or value not in (0, 1):
        raise errors.UserError(
          f"{self.name(i)}: {key} is 0 or 1, got {quoted(value)}."
        )
    return [bool(value) for value in values]

  def numbers(
    self, key: str, expected: str, values: Sequence[Any] | None = None
  ) -> np.ndarray:
    """Return a field of finite numbers: float64 `[N]`.

    Args:
      key: key of the field.
      expected: what is expected, e.g. `scores must be finite`, for errors.
      values: the field of every row, if it may be missing in rows.
    """
    values = self.values(key) if values is None else values
    if not set(map(type, values)) <= {int, float}:
      for i, value in enumerate(values):
        if not _is_number(value):
          self._refuse_number(i, key, value, expected)
    out = np.array([_float(v) for v in values], np.float64)
    sound = np.isfinite(out)
    if not sound.all():
      place = int(np.argmin(sound))
      self._refuse_number(place, key, values[place], expected)
    return out

  def boxes(self, key: str = "bbox") -> np.ndarray:
    """Return boxes x, y, w, h: finite numbers with sides >= 0, float64 `[N, 4]`."""
    values = self.values(key)
    expected = (
      "[x, y, w, h] expected",
      f"four finite numbers, sides >= 0, nothing beyond {FARTHEST_PX:.0f} px",
    )
    out = self._fours(key, values, expected)
    self._check_fours(key, values, _are_boxes(out), expected)
    return out

  def corners(self, key: str = "bbox", *, ordered: bool = True) -> np.ndarray:
    """Return corners x1, y1, x2, y2: finite numbers, float64 `[N, 4]`.

    Args:
      key: key of the field.
      ordered: whether x1 <= x2 and y1 <= y2 is required.
    """
    values = self.values(key)
    order = ", x1 <= x2 and y1 <= y2" if ordered else ""
    expected = "[x1, y1, x2, y2] expected", f"four finite numbers{order}"
    out = self._fours(key, values, expected)
    sound = np.isfinite(out).all(axis=1)
    if ordered:
      sound &= (out[:, 2:] >= out[:, :2]).all(axis=1)
    self._check_fours(key, values, sound, expected)
    return out

  def _fours(
    self, key: str, values: Sequence[Any], expected: tuple[str, str]
  ) -> np.ndarray:
    out = _as_fours(values)
    if out is not None:
      return out
    rows = [_as_fours([value]) for value in values]
    sound = np.array([row is not None for row in rows])
    self._check_fours(key, values, sound, expected)
    return np.concatenate([row for row in rows if row is not None])

  def _check_fours(
    self,
    key: str,
    values: Sequence[Any],
    sound: np.ndarray,
    expected: tuple[str, str],
  ) -> None:
    if not sound.all():
      place = int(np.argmin(sound))
      raise errors.UserError(
        f"{self.name(place)}: {key} {expected[0]}, got {quoted(values[place])}:"
        f" {expected[1]}."
      )

  def areas(self, boxes: np.ndarray) -> np.ndarray:
    """Return `area`, else that of the box: finite, >= 0, float64 `[N]`."""
    default = (boxes[:, 2] * boxes[:, 3]).tolist()
    values = [row.get("area", d) for row, d in zip(self.rows, default)]
    areas = self.numbers("area", "a finite number >= 0 expected", values)
    if np.any(areas < 0):
      place = int(np.argmin(areas))
      self._refuse_number(place, "area", areas[place], "areas are >= 0")
    return areas

  def sizes(self, *, needed: bool = False) -> list[Any]:
    """Return (height, width) of images; None for images that do not state it.

    Args:
      needed: whether every image must state it.
    """
    out: list[Any] = []
    for i, row in enumerate(self.rows):
      size = [row.get("height"), row.get("width")]
      try:
        absent = size == [None, None] and not needed
        out.append(None if absent else rle.check_size(size))
      except errors.UserError as e:
        raise errors.UserError(
          f"{self.name(i)}: height and width are whole numbers from 1 to 65535,"
          f" got {quoted(tuple(size))}."
        ) from e
    return out

  def names(self, key: str) -> list[str]:
    """Return a field of texts, no two of which are equal."""
    values = self.values(key)
    seen = set()
    for i, value in enumerate(values):
      if not isinstance(value, str) or not value:
        raise errors.UserError(
          f"{self.name(i)}: {key} is a text, got {quoted(value)}."
        )
      if value in seen:
        raise errors.UserError(
          f"Two {self.noun.lower()} entries have the {key} {quoted(value)}."
        )
      seen.add(value)
    return values

  def unique(self, key: str) -> list[int]:
    """Return `ids` after checking that no two are equal."""
    ids = self.ids(key)
    if len(set(ids)) < len(ids):
      seen: set[int] = set()
      for i in ids:
        if i in seen:
          raise errors.UserError(
            f"Two {self.noun.lower()} entries have the id {i!r}."
          )
        seen.add(i)
    return ids

  def known_ids(self, key: str, noun: str, ids: Collection[int]) -> list[int]:
    """Return `ids` after checking that they are ids of another kind of rows.

    Args:
      key: key of the field.
      noun: noun for the other kind, e.g. `image`.
      ids: all ids of the other kind, in their order.
    """
    got = self.ids(key)
    strange = set(got).difference(ids)
    if strange:
      place = next(i for i, number in enumerate(got) if number in strange)
      listed = ", ".join(map(repr, list(ids)[:10]))
      more = " ..." if len(ids) > 10 else ""
      raise errors.UserError(
        f"{self.name(place)} is of {noun} {got[place]!r}, which the ground truth"
        f" does not have. Its ids: {listed}{more}."
      )
    return got

  def masks(
    self,
    sizes: Sequence[tuple[int, int] | None],
    *,
    polygons: Callable[[Any, tuple[int, int]], Any],
    key: str = "segmentation",
  ) -> list[Any]:
    """Return masks of their pictures' sizes.

    Args:
      sizes: (height, width) of each row's picture; None if it is not stated.
      polygons: converts a row's polygons, given with their picture's size.
      key: key of the field.

    Returns:
      For each row the result of `polygons`, or {size, counts} with COCO's
      compressed string.

    Raises:
      UserError: a mask is missing, differs in size from its picture, has a
        broken string or runs that do not fill the picture, or `polygons`
        refuses it.
    """
    values = self.values(key, "")
    if _are_compressed(values, sizes):
      out = values
    else:
      out = [self._mask(i, key, size, polygons) for i, size in enumerate(sizes)]
    places = [i for i, mask in enumerate(out) if isinstance(mask, dict)]
    broken = rle.first_broken(
      [out[i]["counts"] for i in places], [out[i]["size"] for i in places]
    )
    if broken:
      name = self.name(places[broken[0]])
      raise errors.UserError(f"{name}: {key}: {broken[1]}")
    return out

  def _mask(
    self,
    place: int,
    key: str,
    size: tuple[int, int] | None,
    polygons: Callable[[Any, tuple[int, int]], Any],
  ) -> Any:
    value = self.rows[place].get(key)
    if value is None or value in ("", [], {}):
      raise errors.UserError(
        f"{self.name(place)} has no {key} ({value!r}); polygons or {{size, counts}}"
        " expected."
      )
    try:
      return _mask(value, size, polygons)
    except errors.MissingPackageError:
      raise
    except errors.UserError as e:
      raise errors.UserError(f"{self.name(place)}: {key}: {e}") from e

  def _id(self, place: int, key: str, value: Any) -> int:
    whole = _is_number(value) and 0 <= value < _MAX_ID and value == int(value)
    if not whole:
      raise errors.UserError(
        f"{self.noun} {place}: {key} is a whole number >= 0, got"
        f" {quoted(value)}."
      )
    return int(value)

  def _refuse_number(
    self, place: int, key: str, value: Any, expected: str
  ) -> None:
    raise errors.UserError(
      f"{self.name(place)} has the {key} {quoted(value)}; {expected}."
    )


def quoted(value: Any) -> str:
  """Return a value as text for a message; a long one is cut."""
  text = repr(value)
  return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _is_number(value: Any) -> bool:
  real = isinstance(value, (int, float, np.integer, np.floating))
  return (
    real and not isinstance(value, bool) and bool(np.isfinite(_float(value)))
  )


def _float(value: Any) -> float:
  try:
    return float(value)
  except OverflowError:
    return float("inf")


def _as_fours(values: Sequence[Any]) -> np.ndarray | None:
  """Return float64 `[N, 4]`; None if a value is no list of four numbers."""
  if not values:
    return np.zeros((0, 4))
  try:
    sides = set(map(len, values))
    kinds = {kind for v in values for kind in map(type, v)}
  except TypeError:
    return None
  plain = all(
    issubclass(k, (int, float, np.integer, np.floating)) for k in kinds
  )
  if sides != {4} or bool in kinds or not plain:
    return None
  try:
    return np.array(values, np.float64).reshape(-1, 4)
  except OverflowError:
    return None


def _are_boxes(boxes: np.ndarray) -> np.ndarray:
  """Return which boxes are valid, bool `[N]`; NaN is not."""
  near = (np.abs(boxes) <= FARTHEST_PX).all(axis=1)
  return near & (boxes[:, 2:] >= 0).all(axis=1)


def _are_compressed(
  values: Sequence[Any], sizes: Sequence[tuple[int, int] | None]
) -> bool:
  """Return whether all masks are compressed strings of their pictures' sizes.

  This is the usual case, checked for all at once; otherwise masks are checked
  one by one.
  """
  if set(map(type, values)) != {dict} or None in sizes:
    return False
  try:
    stated = [tuple(value["size"]) for value in values]
    kinds = {type(value["counts"]) for value in values}
  except (KeyError, TypeError):
    return False
  whole = {kind for size in stated for kind in map(type, size)} == {int}
  return whole and kinds == {str} and stated == list(sizes)


def _mask(
  value: Any,
  size: tuple[int, int] | None,
  polygons: Callable[[Any, tuple[int, int]], Any],
) -> Any:
  if not isinstance(value, (Mapping, list, tuple)):
    raise errors.UserError(
      f"polygons or {{size, counts}} expected, got {quoted(value)}."
    )
  if not isinstance(value, Mapping):
    if size is None:
      raise errors.UserError(
        "masks need the height and width of their image, which it does not have."
      )
    return polygons(value, size)
  stated = rle.check_size(value.get("size"))
  if size is not None and stated != size:
    raise errors.UserError(
      f"the mask's size (height, width) is {stated}, the image's {size}."
    )
  counts: Any = value.get("counts")
  if isinstance(counts, bytes):  # as pycocotools returns them
    counts = counts.decode("ascii", "replace").replace("\ufffd", "\x7f")
  if isinstance(counts, str):
    return {"size": list(stated), "counts": counts}
  return {
    "size": list(stated),
    "counts": rle.from_counts(counts, stated).counts,
  }
