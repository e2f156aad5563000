"""The scores of one model's sets of frames, for every metric of the task `frames`.

Each number is (metric, ((value, lo, hi), n)); `eval/tasks/frames.py` lists the
metrics. This file reads only columns of predictions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from eval.metrics import (
  intervals,
  natural_labels,
  pm_k,
  rates,
  resampling,
)
from eval.metrics import natural_breakdowns as breakdowns
from robust_tfds import errors

K = 10
Columns = Mapping[str, np.ndarray]
_THRESHOLDS = np.arange(21) / 20  # thresholds of l-infinity distances


def right(predicted: Columns) -> np.ndarray:
  """Return whether the first of a cell's predictions is one of the frame's labels.

  An id beyond all labels of a cell is wrong, not unknown: the number of classes
  is up to the model.
  """
  labels, top = predicted["labels"], predicted["top5"][:, 0]
  classes = int(max(labels.max(), top.max())) + 1
  return natural_labels.correct(top, labels, classes)


MetricValue = tuple[intervals.Rate, int]


@dataclasses.dataclass(frozen=True)
class Frames:
  """The frames of one model, with all that the metrics need.

  Attributes:
    predicted: the cell's columns.
    correct: bool `[F]`.
    sets: the anchor sets; those of a video are drawn together.
    reviewed: bool `[F]`: whether the review accepted the frame and its anchor.
  """

  predicted: Columns
  correct: np.ndarray
  sets: pm_k.Sets
  reviewed: np.ndarray

  @classmethod
  def from_columns(
    cls, predicted: Columns, videos: np.ndarray | None = None
  ) -> Frames:
    """Return all frames of a cell.

    Args:
      videos: `[F]` texts; None: every set has its own.
    """
    sets = pm_k.group(predicted["group_id"], predicted["frame"], videos)
    reviewed = predicted["reviewed"]
    whole = reviewed[sets.anchor][sets.set_index]
    return cls(predicted, right(predicted), sets, reviewed & whole)

  def metrics(self) -> list[tuple[str, MetricValue]]:
    """Return every metric of the reviewed frames, and the effect of the review."""
    accepted = self.accepted()
    listed = [
      *accepted._rates(accepted.hits()),
      *accepted.curve(),
      *accepted.class_scores(),
      *accepted.offset_scores(),
      *accepted.value_scores("frame_type", True),
      *accepted.value_scores("frame_type", False),
      *accepted.value_scores("fps", False),
      *accepted.distances(),
    ]
    return listed if self.reviewed.all() else [*listed, *self.review()]

  def accepted(self) -> Frames:
    """Return the frames that the review accepted."""
    if self.reviewed.all():
      return self
    if not self.reviewed.any():
      raise errors.UserError("The review accepted no anchor of this data set.")
    rows = {k: v[self.reviewed] for k, v in self.predicted.items()}
    return Frames.from_columns(rows, self.videos[self.reviewed])

  @property
  def videos(self) -> np.ndarray:
    """The video of each frame: `[F]` texts."""
    return self.sets.video[self.sets.set_index]

  def hits(self) -> dict[str, np.ndarray]:
    """Return bool `[A]` for `acc_orig`, `acc_pmk` and `drop`."""
    failure = pm_k.first_failure(self.correct, self.sets)
    near = failure > 0
    far = failure > K
    return {"acc_orig": near, "acc_pmk": far, "drop": near & ~far}

  def curve(self) -> list[tuple[str, MetricValue]]:
    """Return pm-k for every k, and pm-10 without the anchor."""
    failure = pm_k.first_failure(self.correct, self.sets)
    by_k = {f"acc_pmk/k={k}": failure > k for k in range(K + 1)}
    neighbours = self.correct | (self.sets.frame == 0)
    alone = pm_k.first_failure(neighbours, self.sets) > K
    return self._rates({**by_k, "acc_pmk/without_anchor": alone})

  def class_scores(self) -> list[tuple[str, MetricValue]]:
    """Return the accuracies of each class's anchors."""
    by_class = breakdowns.per_class(
      self.correct, self.sets, self.predicted["labels"]
    )
    return _pairs(by_class, "class")

  def offset_scores(self) -> list[tuple[str, MetricValue]]:
    """Return errors by offset, and accuracy by distance from a right anchor."""
    wrong = breakdowns.offset_errors(self.correct, self.sets)
    near = breakdowns.conditional(self.correct, self.sets)
    return [
      *(
        (f"error/offset={o:+d}", (e["error"], e["n"])) for o, e in wrong.items()
      ),
      *(
        (f"conditional/distance={d}", (c["accuracy"], c["n"]))
        for d, c in near.items()
        if c["n"]
      ),
    ]

  def value_scores(
    self, column: str, without: bool
  ) -> list[tuple[str, MetricValue]]:
    """Return accuracies by frame type or rate, if all are known."""
    values = self.predicted[column][self.sets.anchor].tolist()
    if not all(values):
      return []
    if column == "fps":
      values = [int(v) for v in values]  # 29 is 29.97: the paper's Table 8
    value_numbers = breakdowns.per_value(
      self.correct, self.sets, values, without=without
    )
    return _pairs(value_numbers, f"without_{column}" if without else column)

  def distances(self) -> list[tuple[str, MetricValue]]:
    """Return the CDF of l-infinity distances from the anchor (Appendix F)."""
    linf = self.predicted["linf"]
    if np.isnan(linf).any():
      return []
    near = self.sets.frame != 0
    anchor = self.correct[self.sets.anchor[self.sets.set_index]]
    out = []
    for which, rows in (
      ("pairs", near),
      ("mistakes", near & anchor & ~self.correct),
    ):
      n = int(rows.sum())
      if not n:
        continue
      # They are float32 fractions of whole levels: compare in levels.
      within = np.round(linf[rows] * 255)[:, None] <= 255 * _THRESHOLDS
      totals = resampling.Totals.from_values(within, self.videos[rows])
      out += [
        (f"linf_cdf/{which}={t:.2f}", (rate, n))
        for t, rate in zip(_THRESHOLDS, rates.shares([totals]))
      ]
    return out

  def review(self) -> list[tuple[str, MetricValue]]:
    """Return the accuracies before the human review (Table 4)."""
    impact = breakdowns.review_impact(self.correct, self.sets, self.reviewed)
    return [
      (f"{metric}/{which}", (impact[which][metric], impact[which]["n"]))
      for which in ("unreviewed", "same_anchors")
      for metric in ("acc_orig", "acc_pmk")
    ]

  def _rates(
    self, hits: Mapping[str, np.ndarray]
  ) -> list[tuple[str, MetricValue]]:
    """Compute the share of sets, bool `[A]`, of each metric."""
    columns = np.stack(list(hits.values()), axis=1)
    shares = rates.shares(
      [resampling.Totals.from_values(columns, self.sets.video)]
    )
    return [(m, (rate, len(columns))) for m, rate in zip(hits, shares)]


def _pairs(scores_of: Mapping, what: str) -> list[tuple[str, MetricValue]]:
  return [
    (f"{metric}/{what}={value}", (scores[metric], scores["n"]))
    for value, scores in scores_of.items()
    for metric in ("acc_orig", "acc_pmk")
  ]
