"""Metrics of a cell's answers: rows of the table, means, reliability diagrams.

Which metrics there are `eval/metrics/answers` says, calibration among them. Some
need columns that cells of earlier versions and predictions of other programs
lack; those have no such rows. Over cells there are the means of each, `mean_ece`
and so on: of a corruption over its levels, of the benchmark over the common
corruptions and their levels. They are means of the cells' numbers, not numbers
of all examples together. Those of means over examples have intervals: the same
groups are in all cells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from eval.cells import cell as cells_lib
from eval.cells import missing_cells, table
from eval.metrics import answers as answer_metrics
from eval.metrics import (
  calibration,
  definitions,
  resampling,
)
from eval.metrics.answers.base import Answers
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.headlines import spread as spread_lib
from eval.tasks.parts import proper_scores, top_k
from robust_tfds import conditions
from robust_tfds.conditions import Condition

Columns = Mapping[str, np.ndarray]
# Of a model that gives a true class no chance at all.
_NO_CHANCE = (
  "undefined: the model gives no chance to the true class of {count} examples"
)


def answers(columns: Columns) -> Answers | None:
  """Return the answers of a cell; None if examples have more than one, or none.

  Only frames that the review accepted count; any of a frame's labels is right.
  """
  columns = _one_answer(columns)
  if not columns:
    return None
  if "reviewed" in columns:
    from eval.metrics import frame_scores

    accepted = frame_scores.Frames.from_columns(columns).accepted()
    columns, correct = accepted.predicted, accepted.correct
  else:
    labels = columns.get("labels", columns["label"])
    correct = top_k.hits_by_rank(labels, columns["top5"])[""]
  known = {n: columns[n] for n in proper_scores.NAMES if n in columns}
  if "score" in columns:
    known["score"] = columns["score"][:, 0]
  return Answers(
    columns["label"],
    columns["top5"][:, 0],
    correct,
    columns["group_id"],
    columns.get("frame", np.zeros(len(correct), np.int32)),
    **known,
  )


def bins(columns: Columns) -> calibration.Bins | None:
  """Return the reliability diagram of a cell; None if scores are unknown.

  Its intervals need independent examples: with groups it has none.
  """
  found = answers(columns)
  if found is None or not found.knows("score"):
    return None
  diagram = calibration.reliability(found.score, found.correct)
  if resampling.Groups.from_ids(found.groups).single:
    return diagram
  return dataclasses.replace(diagram, lo=(), hi=())


def rows(cell: cells_lib.Cell, columns: Columns, task: str) -> list[table.Row]:
  """Return the rows of one cell of a task, see `rows_from_answers`."""
  return rows_from_answers(cell, answers(columns), task)


def rows_from_answers(
  cell: cells_lib.Cell,
  cell_answers: Answers | None,
  task: str,
  suffix: str = "",
) -> list[table.Row]:
  """Return the metrics of answers, but for those that need unknown scores.

  If the outputs are no probabilities, these have a row that says so.
  """
  out = []
  for metric in answer_metrics.metrics(task):
    name = metric.name + suffix
    if cell_answers is not None and cell_answers.knows(*metric.needs):
      out.append(
        _row(cell, name, metric.compute(cell_answers), cell_answers.groups)
      )
    elif metric.needs and not suffix and cells_lib.UNCALIBRATED in cell.remarks:
      out.append(cell.row(name, np.nan, note=cells_lib.UNCALIBRATED))
  return out


def _row(
  cell: cells_lib.Cell,
  name: str,
  number: float | np.ndarray,
  groups: np.ndarray,
) -> table.Row:
  if isinstance(number, np.ndarray):
    return mean_row(cell, name, number, groups)
  return cell.row(name, number, n=len(groups))


def mean_row(
  cell: cells_lib.Cell, metric: str, values: np.ndarray, groups: np.ndarray
) -> table.Row:
  """Return the mean of a column, with its interval over whole groups."""
  count = int(np.isinf(values).sum())
  if count:
    why = _NO_CHANCE.format(count=f"{count:,}")
    return cell.row(metric, np.nan, note=why)
  mean = resampling.Draws.from_groups(groups).left_out(values, groups)
  bounds = definitions.metric("", metric).bounds
  return spread_lib.number_row(cell, metric, mean, bounds, len(values))


def numbers(
  columns: Columns, rows_of_cell: Iterable[table.Row], task: str
) -> tuple[dict[str, Replicates], np.ndarray]:
  """Return the numbers of a cell that `headlines` need, and the groups left out.

  Of means over examples, if finite, there are the means without each block of
  groups; of other metrics only the value.

  Args:
    rows_of_cell: its rows from `rows`, and perhaps others.
  """
  listed = {metric.name: metric for metric in answer_metrics.metrics(task)}
  out = {
    row.metric: headlines_lib.value_alone(row.value)
    for row in rows_of_cell
    if row.metric in listed
  }
  found = answers(columns)
  if found is None or not out:
    return out, np.zeros(0, np.str_)
  draws = resampling.Draws.from_groups(found.groups)
  for name, metric in listed.items():
    if metric.values and found.knows(*metric.needs):
      values = metric.values(found)
      if np.isfinite(values).all():
        out[name] = draws.left_out(values, found.groups)
  return out, draws.ids


def headlines(
  cells: headlines_lib.Cells, family: conditions.Family
) -> list[headlines_lib.Headline]:
  """Return the means over one model's cells: of every corruption, of the benchmark."""
  names = {
    metric.name: dict.fromkeys(
      c.name
      for c, metrics in cells.items()
      if c.name and metric.name in metrics
    )
    for metric in answer_metrics.metrics()
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
  """Return the columns of one answer per example: clean sequences have one frame.

  The result is empty without labels, or with more answers than examples.
  """
  top5 = columns.get("top5")
  if top5 is None or "label" not in columns:
    return {}
  if top5.ndim == 3 and top5.shape[1] == 1:
    first = {n: columns[n][:, 0] for n in ("top5", "score") if n in columns}
    return {**columns, **first}
  return columns if top5.ndim == 2 else {}
