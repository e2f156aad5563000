"""One model of a run over one data set: one side of a comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from robust_tfds.conditions import Condition
from robust_tfds.eval import tasks
from robust_tfds.eval.board import facts_of_run
from robust_tfds.eval.board.runs import Run
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.tasks import base


@dataclasses.dataclass(frozen=True)
class Side:
  """One model's cells.

  Attributes:
    run: whose it is.
    dataset: its name.
    model: its label in the run.
    task: bound to the run's settings.
    cells: in the order of the conditions.
  """

  run: Run
  dataset: str
  model: str
  task: base.Task
  cells: Mapping[Condition, Cell]

  def columns(self, condition: Condition) -> base.Columns:
    """The predictions of a cell."""
    return self.run.predictions.columns(self.cells[condition])

  def data(self, conditions: Sequence[Condition]) -> dict[str, Any]:
    """Facts of the data of some cells, in words."""
    cells = [self.cells[c] for c in conditions]
    return facts_of_run.data(self.run, self.task, cells)

  @property
  def by(self) -> dict[str, Any]:
    """Facts of the model, in words."""
    return facts_of_run.model(self.run, list(self.cells.values()))

  @property
  def seed(self) -> int:
    """The run's."""
    return next(iter(self.cells.values())).seed

  @property
  def remarks(self) -> list[str]:
    """What every row says of the model."""
    cells = self.cells.values()
    return list(dict.fromkeys(r for cell in cells for r in cell.remarks))


def datasets(run: Run) -> list[str]:
  """Names of the data sets of a run."""
  return list(dict.fromkeys(c.dataset for c in run.predictions.cells))


def labels(run: Run, dataset: str = "") -> list[str]:
  """Labels of the models that have cells of a data set; default: of any."""
  return list(
    dict.fromkeys(
      c.model
      for c in run.predictions.cells
      if not dataset or c.dataset == dataset
    )
  )


def of(run: Run, dataset: str, model: str) -> Side:
  """One model of a run; it has cells of the data set."""
  cells = {
    c.condition: c
    for c in run.predictions.cells
    if c.dataset == dataset and c.model == model
  }
  baseline = run.predictions.config.get("baseline", "")
  return Side(run, dataset, model, task(run, dataset, baseline), cells)


def task(run: Run, dataset: str, baseline: str) -> base.Task:
  """The run's task over one of its data sets, normalised by a baseline."""
  config = run.predictions.config.copy_and_resolve_references()
  config.unlock()
  config.data.name = dataset
  config.baseline = baseline
  return tasks.bind(config)
