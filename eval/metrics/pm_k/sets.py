"""Anchor sets as index arrays, built once and shared by every metric."""

import dataclasses

import numpy as np

from eval.metrics import arguments
from robust_tfds import errors

_FARTHEST = 2**31  # frames: longer than any video


@dataclasses.dataclass(frozen=True)
class Sets:
  """The F frames in A anchor sets.

  Attributes:
    name: str `[A]`, the sets' ids, sorted.
    set_index: int `[F]`, each frame's set.
    frame: int `[F]`, each frame's signed offset from its anchor.
    anchor: int `[A]`, the row of each set's anchor.
    order: int `[F]`, rows sorted by (set, offset).
    start: int `[A]`, where each set begins in `order`.
    video: str `[A]`: sets of one video are drawn together.
  """

  name: np.ndarray
  set_index: np.ndarray
  frame: np.ndarray
  anchor: np.ndarray
  order: np.ndarray
  start: np.ndarray
  video: np.ndarray

  def __len__(self) -> int:
    """Return the number of anchors."""
    return len(self.name)

  def videos(self, rows: np.ndarray) -> np.ndarray:
    """Return the video of each of some frames."""
    return self.video[self.set_index[rows]]

  def row(self, index: int) -> str:
    """Return a frame in words, for errors."""
    name = self.name.tolist()[self.set_index[index]]
    return f"set {name!r}, offset {self.frame[index]:+d}"


def group(
  group_id: np.typing.ArrayLike,
  frame: np.typing.ArrayLike,
  video: np.typing.ArrayLike | None = None,
) -> Sets:
  """Sort frames into anchor sets.

  Args:
    group_id: `[F]`, str or int: the anchor set of each frame.
    frame: int `[F]`, the offset in frames; 0 is the anchor itself. A set may be
      the anchor alone (one of the 1,109 is).
    video: `[F]`, texts: the video of each frame; None: each set has its own.

  Raises:
    UserError: there are no frames, the shapes differ, an offset is not whole,
      or a set has no anchor or an offset twice; the message names the set.
  """
  ids, offset = _ids("group_id", group_id), _whole_offsets(frame)
  if ids.ndim != 1 or ids.shape != offset.shape:
    raise errors.UserError(
      "group_id and frame must be [frames] each, got"
      f" {list(ids.shape)} and {list(offset.shape)}."
    )
  if not len(ids):
    raise errors.UserError("pm-k needs at least one anchor, got no frames.")
  name, index = np.unique(ids, return_inverse=True)
  order = np.lexsort((offset, index))
  start = np.searchsorted(index[order], np.arange(len(name)))
  alone, unknown = np.arange(len(name)).astype(str), np.full(len(name), -1)
  sets = Sets(name, index, offset, unknown, order, start, alone)
  same = (np.diff(index[order]) == 0) & (np.diff(offset[order]) == 0)
  if same.any():
    raise errors.UserError(
      f"Two frames for {sets.row(order[1:][same][0])}; each offset of a set"
      " occurs once."
    )
  rows = np.flatnonzero(offset == 0)
  sets.anchor[index[rows]] = rows
  orphans = np.flatnonzero(sets.anchor < 0)
  if len(orphans):
    raise errors.UserError(
      f"{len(orphans)} set(s) have neighbours but no anchor (offset 0), the first"
      f" {name.tolist()[orphans[0]]!r}. Every set needs the anchor's own prediction."
    )
  if video is None:
    return sets
  return dataclasses.replace(sets, video=_set_videos(video, sets))


def checked(correct: np.typing.ArrayLike, sets: Sets) -> np.ndarray:
  """Return `correct` as bool `[..., F]`, after checks.

  Args:
    correct: bool, or numbers 0 and 1, the last axis over the frames.

  Raises:
    UserError: the length is wrong, or a value is neither 0 nor 1. NaN stands
      for a missing prediction and is refused with the frame's name: it is never
      counted as right or wrong.
  """
  values = arguments.array("correct", correct)
  if not values.ndim or values.shape[-1] != len(sets.set_index):
    raise errors.UserError(
      f"correct must be [..., {len(sets.set_index)}] like group_id and frame, got"
      f" {list(values.shape)}."
    )
  if values.dtype == bool:
    return values
  if values.dtype.kind not in "iuf":
    raise errors.UserError(
      f"correct must be bool, or numbers 0 and 1, got dtype {values.dtype}."
    )
  bad = (values != 0) & (values != 1)
  if bad.any():
    at = np.argwhere(bad)[0]
    value, row = values[tuple(at)], sets.row(at[-1])
    if np.isnan(value):
      raise errors.UserError(
        f"No prediction for {row} ({int(bad.sum())} in all). Predict every"
        " frame, or leave its whole set out."
      )
    raise errors.UserError(f"correct must be 0 or 1, got {value} for {row}.")
  return values.astype(bool)


def _set_videos(video: np.typing.ArrayLike, sets: Sets) -> np.ndarray:
  """Return the video of each set, which all of its frames must name."""
  frame_videos = _ids("video", video)
  if frame_videos.shape != sets.frame.shape:
    raise errors.UserError(
      f"video must be [{len(sets.frame)}] like frame, got"
      f" {list(frame_videos.shape)}."
    )
  frame_videos = frame_videos.astype(np.str_)
  set_videos = frame_videos[sets.anchor]
  other = set_videos[sets.set_index] != frame_videos
  if other.any():
    raise errors.UserError(
      f"All frames of a set must be of one video; {sets.row(int(np.argmax(other)))}"
      " is of another video than its anchor."
    )
  return set_videos


def _ids(what: str, group_id: np.typing.ArrayLike) -> np.ndarray:
  """Return ids as texts or whole numbers, all of one kind."""
  if isinstance(group_id, (list, tuple)):
    mixed = {isinstance(g, (str, bytes)) for g in group_id}
    if len(mixed) > 1:
      raise errors.UserError(f"{what} must be all texts or all whole numbers.")
  ids = arguments.array(what, group_id)
  if ids.dtype == object and all(isinstance(g, str) for g in ids.flat):
    ids = ids.astype(str)
  if ids.size and ids.dtype.kind not in "iuSU":
    raise errors.UserError(
      f"{what} must be texts or whole numbers, got {ids.dtype}: a set without"
      " an id cannot be told from another."
    )
  return ids


def _whole_offsets(frame: np.typing.ArrayLike) -> np.ndarray:
  values = arguments.array("frame", frame)
  if values.dtype.kind not in "iuf" and values.size:
    raise errors.UserError(
      f"frame must hold whole numbers, offsets in frames; got {values.dtype}."
    )
  fits = np.abs(values) < _FARTHEST  # False for NaN
  if values.dtype.kind == "f":
    fits &= values == np.floor(values)
  if not fits.all():
    raise errors.UserError(
      "frame must hold whole numbers, offsets in frames; got"
      f" {values[~fits][0]}."
    )
  return values.astype(np.int64)
