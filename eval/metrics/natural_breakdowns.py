"""Breakdowns of natural perturbations: by class, offset, frame type, rate, review.

Definitions: docs/evidence/specs/video.md section 4, "Secondary analyses"; figures and
appendices of Shankar et al. 2019. `correct` is bool or 0/1 `[F]` (`[models, F]`
where stated); `sets` comes from `pm_k.group`, and knows which sets are drawn
together. Intervals are those of `rates.shares`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.metrics import intervals, pm_k, rates
from eval.metrics.resampling import Totals
from robust_tfds import errors

_K = 10  # largest distance of pm-k
_NO_PAIRS: intervals.Rate = (np.nan, 0.0, 1.0)


def per_class(
  correct: np.typing.ArrayLike, sets: pm_k.Sets, labels: np.typing.ArrayLike
) -> dict[int, dict]:
  """Compute pm-0 and pm-k of the anchors that show each class (Figure 7).

  Args:
    correct: `[F]`.
    labels: int `[F, L]` or `[F]`, -1 pads; the anchors' rows are read.

  Returns:
    For each class that an anchor shows, by id: `acc_orig` and `acc_pmk`, each
    (value, lo, hi), and `n`. An anchor with two labels counts for both.
  """
  known = np.asarray(labels)
  known = known[:, None] if known.ndim == 1 else known
  known = known[sets.anchor]
  failure = pm_k.first_failure(pm_k.checked(correct, sets), sets)
  parts = {
    int(c): (failure, (known == c).any(axis=1))
    for c in np.unique(known[known >= 0])
  }
  return _scores(parts, sets)


def per_value(
  correct: np.typing.ArrayLike,
  sets: pm_k.Sets,
  values: Mapping[str, object] | Sequence,
  *,
  without: bool = False,
) -> dict[object, dict]:
  """Compute pm-0 and pm-k by a property of the anchors.

  Args:
    correct: `[F]`.
    values: the property of each anchor: by set id, or in the order of
      `sets.name`. Frame type `I`, `P`, `B` (Table 7) or whole frames per
      second (Table 8), for instance; `stream.facts` reads both.
    without: whether to leave out the anchors of a value instead of keeping only
      them: Table 7 of the paper.

  Returns:
    The numbers of `per_class` by value; with `without`, a value of all anchors
    is missing, since nothing would remain.

  Raises:
    UserError: a set has no value; the message names it.
  """
  listed = _per_anchor(values, sets)
  failure = pm_k.first_failure(pm_k.checked(correct, sets), sets)
  parts = {}
  for value in sorted(set(listed)):
    inside = np.array([(v == value) != without for v in listed])
    if inside.any():
      parts[value] = failure, inside
  return _scores(parts, sets)


def offset_errors(
  correct: np.typing.ArrayLike, sets: pm_k.Sets
) -> dict[int, dict]:
  """Compute the share of wrong frames at each signed offset, over all models
  (Figure 5).

  Args:
    correct: `[F]` or `[models, F]`.

  Returns:
    offset -> `error`, (value, lo, hi), `wrong` and `n`, both counts over models
    and frames. A video's frames are drawn together, under all models.
  """
  right = np.atleast_2d(pm_k.checked(correct, sets))
  offsets = np.unique(sets.frame)
  totals = []
  for offset in offsets:
    rows = np.flatnonzero(sets.frame == offset)
    videos = np.tile(sets.videos(rows), len(right))
    totals.append(Totals.from_values(~right[:, rows].ravel(), videos))
  return {
    int(o): {
      "error": error,
      "wrong": int(total.sums.sum()),
      "n": total.groups.examples,
    }
    for o, error, total in zip(offsets, rates.shares(totals), totals)
  }


def conditional(
  correct: np.typing.ArrayLike, sets: pm_k.Sets, *, signed: bool = False
) -> dict[int, dict]:
  """Compute accuracy at exactly distance d, given a right anchor (Appendix E).

  This is the measure of Gu et al. 2019: it is not cumulative, unlike pm-k, it
  counts existing pairs, and it pools both signs unless `signed`.

  Args:
    correct: `[F]`.
    signed: whether to keep -d and +d apart.

  Returns:
    distance -> `accuracy`, (value, lo, hi), `right` (both frames), `n` (pairs
    with a right anchor) and `pairs`. Distances without a right anchor have a
    nan accuracy.
  """
  right = pm_k.checked(correct, sets)
  distance = sets.frame if signed else np.abs(sets.frame)
  anchor = right[sets.anchor[sets.set_index]]
  near = sets.frame != 0
  distances = np.unique(distance[near])
  listed = [np.flatnonzero(near & anchor & (distance == d)) for d in distances]
  shares = iter(
    rates.shares(
      [
        Totals.from_values(right[rows], sets.videos(rows))
        for rows in listed
        if len(rows)
      ]
    )
  )
  return {
    int(d): {
      "accuracy": next(shares) if len(rows) else _NO_PAIRS,
      "right": int(right[rows].sum()),
      "n": len(rows),
      "pairs": int((near & (distance == d)).sum()),
    }
    for d, rows in zip(distances, listed)
  }


def review_impact(
  correct: np.typing.ArrayLike, sets: pm_k.Sets, reviewed: np.typing.ArrayLike
) -> dict[str, dict]:
  """Compute pm-0 and pm-k before and after the human review (Table 4).

  Args:
    correct: `[F]`, over all candidate frames.
    reviewed: bool `[F]`: the review accepted the frame. An anchor that it refused
      removes its whole set.

  Returns:
    `reviewed`, `unreviewed` (every candidate of every anchor) and `same_anchors`
    (every candidate of the accepted anchors), each as in `per_class`.

  Raises:
    UserError: the number of frames is wrong, or no anchor was accepted.
  """
  accepted, right = np.asarray(reviewed, bool), pm_k.checked(correct, sets)
  if accepted.shape != sets.frame.shape:
    raise errors.UserError(
      f"reviewed must be [{len(sets.frame)}] like frame, got"
      f" {list(accepted.shape)}."
    )
  same = accepted[sets.anchor]
  if not same.any():
    raise errors.UserError(
      "The review accepted no anchor: reviewed is False for all."
    )
  every = pm_k.first_failure(right, sets)
  # A frame that is left out cannot fail.
  left = pm_k.first_failure(right | ~accepted, sets)
  parts = {
    "reviewed": (left, same),
    "unreviewed": (every, np.ones_like(same)),
    "same_anchors": (every, same),
  }
  return _scores(parts, sets)


def static_worst(correct: np.typing.ArrayLike, sets: pm_k.Sets) -> dict:
  """Choose a single worst frame of each set for all models (Appendix C).

  Args:
    correct: `[models, F]`, the pool.

  Returns:
    `chosen`, int `[A]`, the row of each set's frame that most models miss (the
    earliest of equals; the anchor if it has no neighbours); `accuracy` of each
    model on those frames, and `with_anchor`, on them and the anchors, each a
    list of (value, lo, hi).
  """
  right = np.atleast_2d(pm_k.checked(correct, sets))
  misses = (~right).sum(axis=0)[sets.order]
  misses = np.where(sets.frame[sets.order] == 0, -1, misses)
  most = np.maximum.reduceat(misses, sets.start)
  position = np.arange(len(misses))
  worst = np.where(
    misses == most[sets.set_index[sets.order]], position, len(misses)
  )
  chosen = sets.order[np.minimum.reduceat(worst, sets.start)]
  both = right[:, chosen] & right[:, sets.anchor]
  return {
    "chosen": chosen,
    "accuracy": rates.shares(
      [Totals.from_values(right[:, chosen].T, sets.video)]
    ),
    "with_anchor": rates.shares([Totals.from_values(both.T, sets.video)]),
  }


def _scores(
  parts: Mapping[Any, tuple[np.ndarray, np.ndarray]], sets: pm_k.Sets
) -> dict[Any, dict]:
  """Compute pm-0 and pm-k of some anchors.

  Args:
    parts: for each part, the first failures and the anchors that count, `[A]`
      each.
  """
  totals = [
    Totals.from_values(failure[inside, None] > [0, _K], sets.video[inside])
    for failure, inside in parts.values()
  ]
  shares = iter(rates.shares(totals))
  return {
    which: {
      "acc_orig": next(shares),
      "acc_pmk": next(shares),
      "n": total.groups.examples,
    }
    for which, total in zip(parts, totals)
  }


def _per_anchor(
  values: Mapping[str, Any] | Sequence[Any], sets: pm_k.Sets
) -> list:
  if isinstance(values, Mapping):
    absent = [str(n) for n in sets.name if str(n) not in values]
    if absent:
      raise errors.UserError(
        f"No value for {len(absent)} set(s), the first {absent[0]!r}."
      )
    return [values[str(n)] for n in sets.name]
  if len(values) != len(sets):
    raise errors.UserError(f"{len(values)} values for {len(sets)} sets.")
  return list(values)
