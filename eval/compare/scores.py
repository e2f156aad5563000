"""A run's models, scored from their cells: numbers, draws, facts.

Everything is computed from the predictions, nothing is read from a table: a board
says what the cells say, whoever wrote the table beside them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import table
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.cells.number import Key, Number
from robust_tfds.eval.compare import facts_of_run
from robust_tfds.eval.compare.progress import Progress
from robust_tfds.eval.metrics.calibration import Bins
from robust_tfds.eval.metrics.replicates import Replicates
from robust_tfds.eval.readers.base import Run
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.parts import baselines


@dataclasses.dataclass(frozen=True)
class Scored:
  """One model of one run over one data set.

  Attributes:
    run: whose it is.
    task: bound to the run's settings.
    model: its label in the run.
    seed: the run's.
    data: facts of the data in words, see `facts_of_run`.
    model_facts: of the model, in words.
    baseline: what normalises, as a text that two runs share only where it is the
      same; empty where nothing does.
    numbers: over cells.
    cells: condition -> metric -> number.
    draws: of the numbers over cells, where there are any.
    reliability: condition -> diagram, where scores are known.
  """

  run: Run
  task: base.Task
  model: str
  seed: int
  data: Mapping[str, Any]
  model_facts: Mapping[str, Any]
  baseline: str
  numbers: Mapping[Key, Number]
  cells: Mapping[Condition, Mapping[str, Number]]
  draws: Mapping[Key, Replicates]
  reliability: Mapping[Condition, Bins]


def of_runs(runs: Sequence[Run]) -> list[Scored]:
  """The models of runs, with lines of progress."""
  lines = Progress(sum(len(run.cells) for run in runs))
  return [scored for run in runs for scored in of_run(run, lines.step)]


def of_run(run: Run, tell: Callable[[str], None]) -> list[Scored]:
  """The models of a run: by data set, then in the order of the run.

  Args:
    run: as `runs.read` gives it.
    tell: is told of each cell.

  Raises:
    UserError: damaged cells, or cells that a task cannot score.
  """
  datasets = run.datasets
  return [s for name in datasets for s in _of_dataset(run, name, tell)]


def _of_dataset(
  run: Run, dataset: str, tell: Callable[[str], None]
) -> list[Scored]:
  labels = run.labels(dataset)
  task = run.task(dataset)
  task.check_baseline(labels)
  cells = {label: run.cells_of(dataset, label) for label in labels}
  scorer = base.Scorer(task, run.truth)
  for label, of_model in cells.items():
    for cell in of_model:
      scorer.add(cell, run.columns(cell))
      tell(f"{run.name}: {label} {cell.condition.config}")
  scored = scorer.scored(run.cells_of(dataset))
  return [
    Scored(
      run=run,
      task=task,
      model=label,
      seed=cells[label][0].seed,
      data=facts_of_run.data(run, task, cells[label]),
      model_facts=facts_of_run.model(run, cells[label]),
      baseline=_baseline(task, cells),
      numbers=_numbers(
        scored.rows, label, cells[label], scored.headlines.get(label, {})
      ),
      cells=_cells(scored.rows, label, cells[label]),
      draws=scored.headlines.get(label, {}),
      reliability={
        c.condition: scored.reliability[c]
        for c in cells[label]
        if c in scored.reliability
      },
    )
    for label in labels
  ]


def _baseline(task: base.Task, cells: Mapping[str, Sequence[Cell]]) -> str:
  """A published name; of a model of the run what its numbers depend on."""
  name = task.setting.baseline
  label = baselines.model_label(name)
  if not label:
    return name
  weights = cells[label][0].of_model or "unknown weights"
  return f"{label}, of the same run ({weights})"


def _numbers(
  rows: Sequence[table.Row],
  label: str,
  cells: Sequence[Cell],
  draws: Mapping[Key, Replicates],
) -> dict[Key, Number]:
  """Those over cells, and those of a cell at another level than its own.

  A temporal perturbation is one cell with all difficulties.
  """
  own = {(c.condition.config, c.condition.level) for c in cells}
  out = {}
  for row in rows:
    if row.model == label and (
      not row.config or (row.config, row.severity) not in own
    ):
      key = row.metric, row.corruption, row.severity
      out[key] = _beside(row.number, draws.get(key))
  return out


def _beside(number: Number, drawn: Replicates | None) -> Number:
  """The number with the jackknife's interval, where the draws have one."""
  if drawn is None or number.lo is None:
    return number
  lo, hi = map(float, drawn.jackknife_interval())
  if not (math.isfinite(lo) and math.isfinite(hi)):
    return number
  return dataclasses.replace(number, jackknife=(lo, hi))


def _cells(
  rows: Sequence[table.Row], label: str, cells: Sequence[Cell]
) -> dict[Condition, dict[str, Number]]:
  """Of every condition, at its own level."""
  conditions = {c.condition.config: c.condition for c in cells}
  out: dict[Condition, dict[str, Number]] = {c.condition: {} for c in cells}
  for row in rows:
    if row.model == label and row.config:
      condition = conditions[row.config]
      if row.severity == condition.level:
        out[condition].setdefault(row.metric, row.number)
  return out
