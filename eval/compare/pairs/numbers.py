"""Cells of several sides as numbers with draws, which all sides share.

Most tasks have sums over groups, from which draws follow in one pass. Detection
has replicates cell by cell. Numbers that another program measured are only
values. Metrics of answers, such as NLL, only have blocks of whole groups, the
same for both models.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from eval.compare.pairs import pairing
from eval.compare.sides import Side
from eval.metrics import answers as answer_metrics
from eval.metrics.resampling import Draws, Replicates, Totals
from eval.tasks import base
from eval.tasks.headlines import headlines, spread
from eval.tasks.parts import reliability
from robust_tfds import errors
from robust_tfds.conditions import Condition

Cells = Mapping[Condition, Mapping[str, Replicates]]


@dataclasses.dataclass(frozen=True)
class Numbers:
  """The numbers of the cells of several sides.

  Attributes:
    cells: for every side, in order: condition -> metric -> replicates.
    totals: for every side: condition -> metric -> sums over groups; empty if
      numbers are no means.
    n: condition -> number of its examples.
    drawn: whether there are draws or blocks, not only values.
    answers: for every side: condition -> metric of answers -> replicates.
  """

  cells: Sequence[Cells]
  totals: Sequence[Mapping[Condition, Mapping[str, Totals]]]
  n: Mapping[Condition, int]
  drawn: bool
  answers: Sequence[Cells] = ({}, {})


def read(sides: Sequence[Side], common: Sequence[Condition]) -> Numbers:
  """Read the cells of several sides, and draw once for all.

  Args:
    sides: sides over the same data; the others are compared with the first.
    common: conditions that all of them have.

  Raises:
    UserError: cells that differ in examples or ground truth.
  """
  _check_truth(sides)
  totals: list[dict[Condition, dict[str, Totals]]] = [{} for _ in sides]
  groups: list[np.ndarray] = []
  n: dict[Condition, int] = {}
  answers: list[dict[Condition, _Answered]] = [{} for _ in sides]
  for condition in common:
    first = sides[0].columns(condition)
    for i, side in enumerate(sides):
      columns = first if not i else side.columns(condition)
      pairing.check_columns(condition, first, columns)
      totals[i][condition] = side.task.totals(columns)
      answered = _answered(side, columns) if totals[i][condition] else None
      if answered:
        answers[i][condition] = answered
    groups += _groups(sides[0], first, totals[0][condition])
    n[condition] = len(np.unique(first["example_id"]))
  if any(len(g) for g in groups):
    draws = Draws.from_groups(np.concatenate(groups))
    if all(sums for side in totals for sums in side.values()):
      return Numbers(
        [spread.cell_replicates(side, draws) for side in totals],
        totals,
        n,
        drawn=True,
        answers=[
          {c: a.replicates(draws) for c, a in side.items()} for side in answers
        ],
      )
    cells = [_replicates(side, common, draws) for side in sides]
    if all(metrics for side in cells for metrics in side.values()):
      return Numbers(cells, [{} for _ in sides], n, drawn=True)
  values = [_values(side, common) for side in sides]
  return Numbers(values, [{} for _ in sides], n, drawn=False)


@dataclasses.dataclass(frozen=True)
class _Answered:
  """The metrics of a cell's answers.

  Attributes:
    numbers: metric -> its number, or `[N]` values whose mean it is.
    groups: `[N]` texts, as the task draws them.
  """

  numbers: Mapping[str, float | np.ndarray]
  groups: np.ndarray

  def replicates(self, draws: Draws) -> dict[str, Replicates]:
    """Return the numbers as values, and finite means without each block."""
    out = {}
    for name, number in self.numbers.items():
      if not isinstance(number, np.ndarray):
        out[name] = headlines.value_alone(number)
      elif np.isfinite(number).all():
        out[name] = draws.left_out(number, self.groups)
    return out


def _answered(side: Side, columns: base.Columns) -> _Answered | None:
  """Return the metrics of a cell's answers; None if no single answers are stored."""
  answers = reliability.answers(columns)
  if answers is None:
    return None
  drawn, groups = side.task.group_ids(columns), answers.groups
  if drawn is not columns["group_id"]:
    home = dict(zip(columns["group_id"].tolist(), drawn.tolist()))
    groups = np.array([home[g] for g in groups.tolist()], np.str_)
  numbers = {
    metric.name: metric.compute(answers)
    for metric in answer_metrics.metrics(side.task.facts.task)
    if answers.knows(*metric.needs)
  }
  return _Answered(numbers, groups)


def _groups(
  side: Side, columns: base.Columns, totals: Mapping[str, Totals]
) -> list[np.ndarray]:
  """Return the ids of the groups of a cell."""
  if totals:
    return list({id(t.groups): t.groups.ids for t in totals.values()}.values())
  return [np.unique(side.task.group_ids(columns, side.run.truth))]


def _check_truth(sides: Sequence[Side]) -> None:
  truth = sides[0].run.truth
  for side in sides[1:]:
    if side.run.truth != truth:
      raise errors.UserError(
        "The runs have different ground truth (truth.json). Compare runs over"
        " the same objects."
      )


def _replicates(
  side: Side, common: Sequence[Condition], draws: Draws
) -> dict[Condition, dict[str, Replicates]]:
  truth = side.run.truth
  return {
    c: _main(side.task.replicates(side.columns(c), draws, truth))
    for c in common
  }


def _values(
  side: Side, common: Sequence[Condition]
) -> dict[Condition, dict[str, Replicates]]:
  """Return only the values of the cells."""
  out = {}
  for condition in common:
    rows = side.task.cell_rows(
      side.cells[condition], side.columns(condition), side.run.truth
    )
    out[condition] = _main(
      {
        row.metric: Replicates(np.array(row.value), None, np.zeros(0))
        for row in rows
      }
    )
  return out


def _main(cell: Mapping[str, Replicates]) -> dict[str, Replicates]:
  """Return the first metric, and those with the same last part: AP of boxes and
  masks.
  """
  ends = {metric: metric.rpartition("/")[2] for metric in cell}
  first = next(iter(ends.values()), "")
  return {m: number for m, number in cell.items() if ends[m] == first}
