"""One model of a run over one data set: one side of a comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.compare import facts_of_run
from robust_tfds.eval.readers.base import Run
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
    return self.run.columns(self.cells[condition])

  def data(self, conditions: Sequence[Condition]) -> dict[str, Any]:
    """Facts of the data of some cells, in words."""
    cells = [self.cells[c] for c in conditions]
    return facts_of_run.data(self.run, self.task, cells)

  @property
  def model_facts(self) -> dict[str, Any]:
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


def of(run: Run, dataset: str, model: str) -> Side:
  """One model of a run; it has cells of the data set."""
  cells = {c.condition: c for c in run.cells_of(dataset, model)}
  return Side(run, dataset, model, run.task(dataset), cells)
