"""Correctness with several true labels, and predictions matched to frames.

A frame of ImageNet-Vid-Robust may show several classes (1,514 of 22,179 do): a
prediction is right if it is one of them (docs/evidence/specs/video.md section 4).
"""

from collections.abc import Sequence

import numpy as np

from robust_tfds import errors

_LISTED = 3


def correct(
  predicted: np.typing.ArrayLike, labels: np.typing.ArrayLike, num_classes: int
) -> np.ndarray:
  """Return whether each prediction is one of its frame's labels.

  Args:
    predicted: int `[..., F]`, class ids; leading axes over models.
    labels: int `[F]` or `[F, L]`, class ids, -1 where a frame has fewer.
    num_classes: ids lie in 0 ... num_classes - 1.

  Returns:
    bool `[..., F]`.

  Raises:
    UserError: an id is outside the label space, a frame has no labels, or the
      numbers of frames differ.

  >>> correct([3, 1], [[3, -1], [0, 2]], 4)
  array([ True, False])
  """
  top, known = np.asarray(predicted), np.asarray(labels)
  known = known[:, None] if known.ndim == 1 else known
  if known.ndim != 2 or not top.ndim or top.shape[-1] != len(known):
    raise errors.UserError(
      f"predicted {list(top.shape)} and labels {list(known.shape)}: expected"
      " [..., frames] and [frames, labels]."
    )
  for name, ids, least in (("prediction", top, 0), ("label", known, -1)):
    wrong = (ids < least) | (ids >= num_classes)
    if wrong.any():
      at = np.argwhere(wrong)[0]
      row = at[-1] if name == "prediction" else at[0]
      raise errors.UserError(
        f"Frame {row}: unknown {name} {ids[tuple(at)]}; the label space has"
        f" classes 0..{num_classes - 1}. Is it projected"
        " (eval/tasks/parts/label_space.py)?"
      )
  none = (known < 0).all(axis=1)
  if none.any():
    raise errors.UserError(f"Frame {int(np.argmax(none))} has no label.")
  return (top[..., None] == known).any(axis=-1)


def padded(
  ids: Sequence[str], rows: Sequence[Sequence[int]], most: int
) -> np.ndarray:
  """Return all labels of examples: int32 `[N, most]`, padded with -1.

  Raises:
    UserError: an example has no labels, or too many; the message names it.
  """
  labels = np.full((len(rows), most), -1, np.int32)
  for i, row in enumerate(rows):
    if not 0 < len(row) <= most:
      raise errors.UserError(
        f"{ids[i]} has {len(row)} labels; it may have 1 to {most}."
      )
    labels[i, : len(row)] = row
  return labels


def aligned(
  frames: Sequence[str],
  predicted: Sequence[str] | np.ndarray,
  values: np.typing.ArrayLike,
) -> np.ndarray:
  """Return values in the order of the frames, each predicted exactly once.

  Args:
    frames: F ids, those of the data set.
    predicted: N >= F ids, those of the predictions, in any order.
    values: `[..., N]`, in the order of `predicted`.

  Returns:
    `[..., F]`.

  Raises:
    UserError: a frame has no prediction or two; the message names it. Missing
      predictions are never counted as right or wrong.

  >>> aligned(["a", "b"], ["b", "a"], [7, 8])
  array([8, 7])
  """
  ids, columns = np.asarray(predicted, np.str_), np.asarray(values)
  if columns.shape[-1:] != ids.shape:
    raise errors.UserError(
      f"values {list(columns.shape)} for {len(ids)} predicted frames: expected"
      " [..., frames]."
    )
  order = np.argsort(ids, kind="stable")
  ranked, targets = ids[order], np.asarray(frames, np.str_)
  repeated = ranked[1:][ranked[1:] == ranked[:-1]]
  if len(repeated):
    raise errors.UserError(
      f"More than one prediction for frame {str(repeated[0])!r}."
    )
  at = np.searchsorted(ranked, targets)
  inside = np.minimum(at, len(ranked) - 1)
  missing = targets if not len(ranked) else targets[ranked[inside] != targets]
  if len(missing):
    listed = ", ".join(repr(str(m)) for m in missing[:_LISTED])
    more = (
      f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
    )
    raise errors.UserError(
      f"No prediction for {len(missing)} of {len(targets)} frames: {listed}"
      f"{more}. Predict every frame, or leave whole sets out."
    )
  return columns[..., order[inside]]
