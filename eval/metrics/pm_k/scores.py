"""Accuracy on anchors and on their worst frames, at every k at once.

One pass over the frames finds, for each anchor, the distance at which a model
first fails; every other number is a count over that array, without a loop over
frames.
"""

import dataclasses

import numpy as np

from eval.metrics import arguments, intervals, rates, resampling
from eval.metrics.pm_k import sets as sets_lib
from eval.metrics.pm_k.sets import Sets
from robust_tfds import errors

NEVER = np.iinfo(np.int32).max
K = 10  # Shankar et al. 2019, section 2: half a second at 20 fps and more


@dataclasses.dataclass(frozen=True)
class Curve:
  """The curve of pm-k for k = 0 ... K.

  Attributes:
    k: int `[K + 1]`.
    value: float64 `[..., K + 1]`, fractions of anchors.
    lo: the same shape, lower ends of the intervals.
    hi: the same shape, upper ends.
    n: number of anchors.
  """

  k: np.ndarray
  value: np.ndarray
  lo: np.ndarray
  hi: np.ndarray
  n: int


def accuracy(
  correct: np.typing.ArrayLike,
  group_id: np.typing.ArrayLike,
  frame: np.typing.ArrayLike,
  *,
  k: int = K,
  level: float = 0.95,
  video: np.typing.ArrayLike | None = None,
) -> dict:
  """Compute accuracy on the anchors, on their worst frames within k, and the drop.

  Args:
    correct: `[F]`, bool or 0/1: whether each frame's prediction is right.
    group_id: `[F]`, the anchor set of each frame.
    frame: int `[F]`, signed offset in frames, 0 the anchor. Frames farther than
      k are left out; an anchor without neighbours counts by itself.
    k: largest distance in frames, k >= 0.
    level: coverage of the intervals: Clopper and Pearson's, or those from draws
      of whole videos (`rates.shares`).
    video: `[F]`, texts: the video of each frame, if a video has several anchors
      (YTBB-Robust); None: each set has its own.

  Returns:
    `acc_orig` (pm-0), `acc_pmk` and `drop` (anchors right on themselves and not
    on their set), each `(value, lo, hi)` in [0, 1], and `n`, the number of
    anchors.

  Raises:
    UserError: see `sets.group` and `sets.checked`; k < 0 or not whole.

  >>> result = accuracy([1, 1, 1, 0], ["a", "a", "b", "b"], [0, 1, 0, 3])
  >>> result["acc_orig"][0], result["acc_pmk"][0], result["drop"][0]
  (1.0, 0.5, 0.5)
  >>> accuracy([1, 1, 1, 0], ["a", "a", "b", "b"], [0, 1, 0, 3], k=2)["drop"][0]
  0.0
  """
  largest = _distance(k)
  sets = sets_lib.group(group_id, frame, video)
  right = sets_lib.checked(correct, sets)
  if right.ndim != 1:
    raise errors.UserError(
      f"correct must be [frames], got {list(right.shape)}; `curve` takes many"
      " models at once."
    )
  failure = first_failure(right, sets)
  near, far = failure > 0, failure > largest
  hits = np.stack([near, far, near & ~far], axis=1)
  shares = rates.shares(
    [resampling.Totals.from_values(hits, sets.video)], level
  )
  return {**dict(zip(("acc_orig", "acc_pmk", "drop"), shares)), "n": len(sets)}


def curve(
  correct: np.typing.ArrayLike, sets: Sets, *, k: int = K, level: float = 0.95
) -> Curve:
  """Compute pm-0 ... pm-k with intervals, for any number of models (Figure 11).

  Args:
    correct: bool or 0/1 `[..., F]`, leading axes over models.
    sets: the sets of the frames (`group`).
    level: coverage of the intervals.
  """
  largest = _distance(k)
  failure = first_failure(sets_lib.checked(correct, sets), sets)
  distances = np.arange(largest + 1)
  right = np.stack([failure > d for d in distances], axis=-1)
  by_set = np.moveaxis(right, -2, 0)
  totals = resampling.Totals.from_values(
    by_set.reshape(len(sets), -1), sets.video
  )
  value, lo, hi = np.transpose(rates.shares([totals], level))
  shape = by_set.shape[1:]
  ends = lo.reshape(shape), hi.reshape(shape)
  return Curve(distances, value.reshape(shape), *ends, len(sets))


def first_failure(correct: np.ndarray, sets: Sets) -> np.ndarray:
  """Return the distance of the nearest wrong frame of each set.

  Args:
    correct: bool `[..., F]`.

  Returns:
    int32 `[..., A]`: 0 where the anchor is wrong, `NEVER` where all are right.
    An anchor is right at k iff its value exceeds k.
  """
  order = sets.order
  distance = np.abs(sets.frame[order]).astype(np.int32)
  failing = np.where(correct[..., order], np.int32(NEVER), distance)
  return np.minimum.reduceat(failing, sets.start, axis=-1)


def without_anchor(
  correct: np.typing.ArrayLike, sets: Sets, *, k: int = K, level: float = 0.95
) -> intervals.Rate:
  """Compute pm-k by the letter of Eq. 1: neighbours alone, without the anchor.

  A set without neighbours cannot fail, whatever its anchor.
  """
  right = sets_lib.checked(correct, sets)
  failure = first_failure(right | (sets.frame == 0), sets)
  hits = resampling.Totals.from_values(failure > _distance(k), sets.video)
  return rates.shares([hits], level)[0]


def _distance(k: int) -> int:
  return arguments.whole_number("k", k)
