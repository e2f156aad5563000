"""Checks of a detector's values; shapes and dtypes are checked before."""

from collections.abc import Mapping, Sequence

import numpy as np

from robust_tfds import errors

_MAX_CLASS = np.iinfo(np.int16).max  # as columns hold them
NONE = -1  # class of a place without a detection
NO_CLASS = -2  # class of a detection whose class is negative


def check(
  example_ids: Sequence[str] | np.ndarray, outputs: Mapping[str, np.ndarray]
) -> None:
  """Refuse detections that cannot be scored.

  Args:
    example_ids: the id of each row.
    outputs: `boxes` `[N, D, 4]` (x1, y1, x2, y2), `scores` `[N, D]`, `classes`
      `[N, D]` with `NONE` for no detection, and `masks` `[N, D, M, M]` if there
      are any (texts are not checked).

  Raises:
    UserError: boxes, scores or masks that are not finite, boxes whose ends are
      swapped, classes that are negative or too large; the message names the
      first example.
  """
  boxes, scores = outputs["boxes"], outputs["scores"]
  classes = outputs["classes"]
  there = classes != NONE
  finite = np.isfinite(boxes).all(axis=-1) & np.isfinite(scores)
  swapped = (boxes[..., 2:] < boxes[..., :2]).any(axis=-1)
  strange = (classes < 0) | (classes > _MAX_CLASS)
  faults = [
    (~finite, "a box or score that is NaN or infinite"),
    (swapped, "a box whose ends are swapped (x2 < x1 or y2 < y1)"),
    (strange, f"a class outside of 0..{_MAX_CLASS}"),
  ]
  if "masks" in outputs and outputs["masks"].dtype != np.object_:
    broken = ~np.isfinite(outputs["masks"]).all(axis=(-2, -1))
    faults.append((broken, "a mask with NaN or infinite values"))
  for fault, words in faults:
    if (fault & there).any():
      row, place = np.argwhere(fault & there)[0]
      raise errors.UserError(
        f"Example {str(example_ids[row])!r}: the detector gave {words}: detection"
        f" {place}, box {boxes[row, place].tolist()}, score"
        f" {scores[row, place]}, class {classes[row, place]}. Check the"
        " checkpoint and the dtype, or mark what is no detection as not valid."
      )
