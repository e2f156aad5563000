"""Calibration of cells that hold scores: rows of the table, reliability diagrams.

`ece`, `ece_adaptive` and `rms_calibration_error` follow from the top score
alone (`eval/metrics/calibration.py`). `nll` and `brier` are means of columns
that cells of earlier versions and predictions of other programs lack; those
have no such rows. Over cells there are the means of each, `mean_ece` and so on:
of a corruption over its levels, of the benchmark over the common corruptions
and their levels. They are means of the cells' numbers, not numbers of all
examples together. Those of NLL and Brier score have intervals: the same groups
are in all cells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from eval.cells import cell as cells_lib
from eval.cells import missing_cells, table
from eval.metrics import (
  calibration,
  definitions,
  frame_scores,
  resampling,
)
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.headlines import spread as spread_lib
from eval.tasks.parts import proper_scores, top_k
from robust_tfds import conditions
from robust_tfds.conditions import Condition

Columns = Mapping[str, np.ndarray]
_OF_SCORES = {
  "ece": calibration.ece,
  "ece_adaptive": calibration.ece_adaptive,
  "rms_calibration_error": calibration.rms_calibration_error,
}
METRICS = definitions.metrics("", *_OF_SCORES, "nll", "brier")
# Of a model that gives a true class no chance at all.
_NO_CHANCE = (
  "undefined: the model gives no chance to the true class of {count} examples"
)


@dataclasses.dataclass(frozen=True)
class Answers:
  """The examples of a cell with known scores.

  Attributes:
    score: float32 `[N]`, that of the first answer.
    correct: bool `[N]`: whether it is right.
    scores: NLL and Brier score by name, float32 `[N]`; empty if they are
      unknown.
    groups: `[N]` texts: the group of each example.
    frame: int32 `[N]`, offset of a frame from its anchor.
  """

  score: np.ndarray
  correct: np.ndarray
  scores: Mapping[str, np.ndarray]
  groups: np.ndarray
  frame: np.ndarray

  @classmethod
  def from_columns(cls, columns: Columns) -> Answers | None:
    """Create them from a cell's columns; None without scores of single answers.

    Only frames that the review accepted count; any of a frame's labels is
    right.
    """
    columns = _one_answer(columns)
    if not columns:
      return None
    if "reviewed" in columns:
      accepted = frame_scores.Frames.from_columns(columns).accepted()
      columns, correct = accepted.predicted, accepted.correct
    else:
      labels = columns.get("labels", columns["label"])
      correct = top_k.hits_by_rank(labels, columns["top5"])[""]
    known = [n for n in proper_scores.NAMES if n in columns]
    return cls(
      columns["score"][:, 0],
      correct,
      {name: columns[name] for name in known},
      columns["group_id"],
      columns["frame"],
    )

  def only(self, rows: np.ndarray) -> Answers:
    """Return some of the examples: bool `[N]`."""
    return Answers(
      self.score[rows],
      self.correct[rows],
      {name: values[rows] for name, values in self.scores.items()},
      self.groups[rows],
      self.frame[rows],
    )


def bins(columns: Columns) -> calibration.Bins | None:
  """Return the reliability diagram of a cell; None if scores are unknown.

  Its intervals need independent examples: with groups it has none.
  """
  answers = Answers.from_columns(columns)
  if answers is None:
    return None
  diagram = calibration.reliability(answers.score, answers.correct)
  if resampling.Groups.from_ids(answers.groups).single:
    return diagram
  return dataclasses.replace(diagram, lo=(), hi=())


def rows(
  cell: cells_lib.Cell, columns: Columns, suffix: str = ""
) -> list[table.Row]:
  """Return the calibration of one cell; nothing if scores are unknown."""
  return rows_of(cell, Answers.from_columns(columns), suffix)


def rows_of(
  cell: cells_lib.Cell, answers: Answers | None, suffix: str = ""
) -> list[table.Row]:
  """Return the rows of answers; without values if the outputs are no
  probabilities.
  """
  if answers is None:
    is_known = cells_lib.UNCALIBRATED in cell.remarks
    names = [m.name + suffix for m in METRICS] if is_known else []
    return [cell.row(n, np.nan, note=cells_lib.UNCALIBRATED) for n in names]
  n = len(answers.score)
  out = [
    cell.row(name + suffix, metric(answers.score, answers.correct), n=n)
    for name, metric in _OF_SCORES.items()
  ]
  for name, values in answers.scores.items():
    out.append(mean_row(cell, name + suffix, values, answers.groups))
  return out


def mean_row(
  cell: cells_lib.Cell, metric: str, values: np.ndarray, groups: np.ndarray
) -> table.Row:
  """Return the mean of a column, with its interval over whole groups."""
  count = int(np.isinf(values).sum())
  if count:
    why = _NO_CHANCE.format(count=f"{count:,}")
    return cell.row(metric, np.nan, note=why)
  mean = resampling.Draws.from_groups(groups).left_out(values, groups)
  of = spread_lib.number(mean, definitions.metric("", metric).bounds)
  ends, n = (of.lo, of.hi), len(values)
  return cell.row(metric, float(mean.value), ends, n, note=of.note)


def numbers(
  columns: Columns, rows_of_cell: Iterable[table.Row]
) -> tuple[dict[str, Replicates], np.ndarray]:
  """Return the numbers of a cell that `headlines` need, and the groups left
  out.

  For NLL and Brier score, if known and finite, there are the means without each
  block of groups; for the others only the value.

  Args:
    rows_of_cell: its rows from `rows`, and perhaps others.
  """
  of_scores = {m.name for m in METRICS}
  out = {
    row.metric: headlines_lib.value_alone(row.value)
    for row in rows_of_cell
    if row.metric in of_scores
  }
  answers = Answers.from_columns(columns)
  if answers is None:
    return out, np.zeros(0, np.str_)
  draws = resampling.Draws.from_groups(answers.groups)
  for name, values in answers.scores.items():
    if np.isfinite(values).all():
      out[name] = draws.left_out(values, answers.groups)
  return out, draws.ids


def headlines(
  cells: headlines_lib.Cells, family: conditions.Family
) -> list[headlines_lib.Headline]:
  """Return the means over one model's cells: of every corruption, of the
  benchmark.
  """
  names = {
    metric.name: dict.fromkeys(
      c.name
      for c, metrics in cells.items()
      if c.name and metric.name in metrics
    )
    for metric in METRICS
  }
  common = family.names("common")
  return [
    _mean(metric, missing_cells.needed(family, over), name)
    for metric, listed in names.items()
    for name, over in [*((n, (n,)) for n in listed), ("", common)]
  ]


def _mean(
  metric: str, cells: Sequence[Condition], name: str
) -> headlines_lib.Headline:
  return headlines_lib.Headline(
    f"mean_{metric}",
    (metric,),
    cells,
    lambda ours, _: np.mean([ours[c][metric] for c in cells], axis=0),
    name,
    undefined="undefined in one of the cells",
  )


def _one_answer(columns: Columns) -> Columns:
  """Return the columns of one answer per example: clean sequences have one
  frame.

  The result is empty without scores, or with more answers than examples.
  """
  score = columns.get("score")
  if score is None or "label" not in columns:
    return {}
  if score.ndim == 3 and score.shape[1] == 1:
    return {**columns, "score": score[:, 0], "top5": columns["top5"][:, 0]}
  return columns if score.ndim == 2 else {}
