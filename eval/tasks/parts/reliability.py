"""Calibration of cells that hold scores: rows of the table, reliability diagrams.

`ece`, `ece_adaptive` and `rms_calibration_error` follow from the top score alone
(`eval/metrics/calibration.py`). `nll` and `brier` are means of columns that cells of
earlier versions and predictions of other programs lack: those have no such rows.
Over cells there are the means of each, `mean_ece` and so on: of a corruption over
its levels, of the benchmark over the common corruptions and their levels. They are
means of the cells' numbers, not numbers of all examples together. Those of NLL and
Brier score have intervals: the same groups are in all cells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import cell as cells_lib
from robust_tfds.eval.cells import table
from robust_tfds.eval.metrics import (
  calibration,
  definitions,
  frame_scores,
  group_mean,
  resampling,
)
from robust_tfds.eval.tasks.parts import missing_cells, proper_scores
from robust_tfds.eval.tasks.parts import spread as spread_lib

Columns = Mapping[str, np.ndarray]
# Metric -> its means without each block of groups.
Spread = Mapping[str, group_mean.BlockMeans]
_OF_SCORES = {
  "ece": calibration.ece,
  "ece_adaptive": calibration.ece_adaptive,
  "rms_calibration_error": calibration.rms_calibration_error,
}
METRICS = definitions.metrics("", *_OF_SCORES, "nll", "brier")
MEANS = definitions.metrics("", *(f"mean_{m.name}" for m in METRICS))
# Of a model that gives a true class no chance at all.
_NO_CHANCE = (
  "undefined: the model gives no chance to the true class of {count} examples"
)


@dataclasses.dataclass(frozen=True)
class Answers:
  """The examples of a cell whose scores are known.

  Attributes:
    score: float32 `[N]`, of the first answer.
    correct: bool `[N]`: whether it is right.
    scores: NLL and Brier score by name, float32 `[N]`; empty where they are not
      known.
    groups: `[N]` texts: what belongs together.
    frame: int32 `[N]`, offset of a frame from its anchor.
  """

  score: np.ndarray
  correct: np.ndarray
  scores: Mapping[str, np.ndarray]
  groups: np.ndarray
  frame: np.ndarray

  @classmethod
  def of(cls, columns: Columns) -> Answers | None:
    """Of a cell's columns; None where they hold no scores of single answers.

    Frames count where the review accepted them; any of a frame's labels is right.
    """
    columns = _one_answer(columns)
    if not columns:
      return None
    if "labels" in columns:
      accepted = frame_scores.Scored.of(columns).accepted()
      columns, correct = accepted.predicted, accepted.correct
    else:
      correct = columns["top5"][:, 0] == columns["label"]
    known = [n for n in proper_scores.NAMES if n in columns]
    return cls(
      columns["score"][:, 0],
      correct,
      {name: columns[name] for name in known},
      columns["group_id"],
      columns["frame"],
    )

  def only(self, rows: np.ndarray) -> Answers:
    """Some of the examples: bool `[N]`."""
    return Answers(
      self.score[rows],
      self.correct[rows],
      {name: values[rows] for name, values in self.scores.items()},
      self.groups[rows],
      self.frame[rows],
    )


def bins(columns: Columns) -> calibration.Bins | None:
  """The reliability diagram of a cell; None where scores are not known.

  Its intervals are of examples that stand alone: of groups it has none.
  """
  answers = Answers.of(columns)
  if answers is None:
    return None
  of = calibration.reliability(answers.score, answers.correct)
  if resampling.Groups.of(answers.groups).single:
    return of
  return dataclasses.replace(of, lo=(), hi=())


def rows(
  cell: cells_lib.Cell, columns: Columns, suffix: str = ""
) -> list[table.Row]:
  """Calibration of one cell; none where scores are not known.

  Args:
    cell: whose rows.
    columns: of the cell.
    suffix: behind the metrics' names.
  """
  answers = Answers.of(columns)
  return [] if answers is None else rows_of(cell, answers, suffix)


def rows_of(
  cell: cells_lib.Cell, answers: Answers, suffix: str = ""
) -> list[table.Row]:
  """As `rows`, of answers."""
  n = len(answers.score)
  out = [
    cell.row(name + suffix, metric(answers.score, answers.correct), n=n)
    for name, metric in _OF_SCORES.items()
  ]
  for name, values in answers.scores.items():
    out.append(_mean_row(cell, name + suffix, values, answers.groups))
  return out


def _mean_row(
  cell: cells_lib.Cell, metric: str, values: np.ndarray, groups: np.ndarray
) -> table.Row:
  """The mean of a column, with its interval over whole groups."""
  count = int(np.isinf(values).sum())
  if count:
    why = _NO_CHANCE.format(count=f"{count:,}")
    return cell.row(metric, np.nan, note=why)
  mean, (lo, hi) = group_mean.interval(values, groups)
  least = None if lo is None else max(lo, 0.0)  # neither score is below 0
  row = cell.row(metric, mean, (least, hi), len(values))
  return spread_lib.without_point(row)


def spread(columns: Columns) -> Spread:
  """What the intervals of means over cells need of a cell.

  Empty where NLL and Brier score are not known.
  """
  answers = Answers.of(columns)
  if answers is None:
    return {}
  return {
    name: group_mean.BlockMeans.of(values, answers.groups)
    for name, values in answers.scores.items()
    if np.isfinite(values).all()
  }


def summary_rows(
  rows_of_model: Sequence[table.Row],
  family: conditions.Family,
  spreads: Mapping[Condition, Spread],
  baseline: str = "",
) -> list[table.Row]:
  """The means over one model's cells.

  Args:
    rows_of_model: of its cells.
    family: of their conditions.
    spreads: what `spread` gave of each.
    baseline: what the run's numbers are normalised by.
  """
  summary = cells_lib.Summary.of(rows_of_model, baseline)
  return [
    row
    for metric in METRICS
    for row in _Means.of(metric.name, rows_of_model, family, spreads).rows(
      summary
    )
  ]


@dataclasses.dataclass(frozen=True)
class _Means:
  """One metric over one model's cells.

  Attributes:
    metric: its name.
    family: of the conditions.
    values: of the cells that have the metric; nan where it is undefined.
    whys: why, of those.
    blocks: of the cells whose metric is a mean over examples.
    counts: examples of the cells.
  """

  metric: str
  family: conditions.Family
  values: Mapping[Condition, float]
  whys: Mapping[Condition, str]
  blocks: Mapping[Condition, group_mean.BlockMeans]
  counts: Mapping[Condition, int | None]

  @classmethod
  def of(
    cls,
    metric: str,
    rows: Iterable[table.Row],
    family: conditions.Family,
    spreads: Mapping[Condition, Spread],
  ) -> _Means:
    """Of the corrupted cells."""
    of_metric = {
      family.condition(r.corruption, r.severity or 0): r
      for r in rows
      if r.metric == metric and r.corruption
    }
    return cls(
      metric,
      family,
      {c: r.value for c, r in of_metric.items()},
      {c: r.note for c, r in of_metric.items() if not r.has_value},
      {c: of[metric] for c, of in spreads.items() if metric in of},
      {c: r.n for c, r in of_metric.items()},
    )

  def rows(self, summary: cells_lib.Summary) -> list[table.Row]:
    """Of every corruption, then of the benchmark."""
    numbers = missing_cells.Numbers(summary, self.values)
    named = [(n, [n]) for n in dict.fromkeys(c.name for c in self.values)]
    out = []
    for name, over in [*named, ("", list(self.family.names("common")))]:
      cells = missing_cells.needed(self.family, over)
      whys = [self.whys[c] for c in cells if c in self.whys]
      value, n = None, None
      ends: cells_lib.Interval = (None, None)
      if not whys and all(c in self.values for c in cells):
        value = float(np.mean([self.values[c] for c in cells]))
        ends, n = self._interval(value, cells)
      of_name = numbers.rows(
        name,
        f"mean_{self.metric}",
        value,
        cells,
        ends,
        n,
        why="undefined in one of the cells" if whys else "",
      )
      out += [spread_lib.without_point(row) for row in of_name]
    return out

  def _interval(
    self, value: float, cells: Sequence[Condition]
  ) -> tuple[cells_lib.Interval, int | None]:
    """Of a mean over cells, and the fewest examples of one."""
    counts = [n for c in cells if (n := self.counts[c]) is not None]
    n = min(counts, default=None)
    if not all(c in self.blocks for c in cells):
      return (None, None), n
    lo, hi = group_mean.interval_of_cells(
      value, [self.blocks[c] for c in cells]
    )
    return (None if lo is None else max(lo, 0.0), hi), n


def _one_answer(columns: Columns) -> Columns:
  """Columns of one answer an example: clean sequences have one frame each.

  Empty where there are no scores, or more answers than examples.
  """
  score = columns.get("score")
  if score is None or "label" not in columns:
    return {}
  if score.ndim == 3 and score.shape[1] == 1:
    return {**columns, "score": score[:, 0], "top5": columns["top5"][:, 0]}
  return columns if score.ndim == 2 else {}
