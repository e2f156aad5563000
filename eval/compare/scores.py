"""Models of runs, scored from their cells: numbers, draws, facts.

Everything is computed from the predictions and nothing is read from a table: a
board shows what follows from the cells, whatever the table says.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eval.cells import groups
from eval.cells.facts import TaskFacts
from eval.cells.number import Key, Number
from eval.compare.boards import board as board_lib
from eval.compare.boards import exclusions
from eval.compare.boards.board import Entry
from eval.compare.boards.exclusions import Exclusion
from eval.compare.sides import Side
from eval.metrics.replicates import Replicates
from eval.readers.base import Run
from eval.tasks import base
from eval.tasks.headlines import baselines, spread
from robust_tfds import errors
from robust_tfds.step_lines import Progress


@dataclasses.dataclass(frozen=True)
class Scored:
  """One scored model of one run over one data set.

  Attributes:
    side: the model's cells.
    entry: all that a board shows of it; without key and place yet.
    baseline: identity of the baseline as a text, equal in two runs only if it
      is the same; empty without one.
    draws: draws of the numbers over cells, if there are any.
  """

  side: Side
  entry: Entry
  baseline: str
  draws: Mapping[Key, Replicates]

  @property
  def facts(self) -> TaskFacts:
    """The facts of the task."""
    return self.side.task.facts


def score_runs(
  runs: Sequence[Run], excluded: list[Exclusion] | None = None
) -> list[Scored]:
  """Return the models of runs, printing lines of progress.

  Args:
    runs: the result of `runs.read`.
    excluded: collects the models that cannot be scored; None: they are refused.
  """
  lines = Progress(sum(len(run.cells) for run in runs))
  names = groups.Names()
  return [
    s for run in runs for s in score_run(run, lines.step, names, excluded)
  ]


def score_run(
  run: Run,
  tell: Callable[[str], None],
  names: groups.Names | None = None,
  excluded: list[Exclusion] | None = None,
) -> list[Scored]:
  """Return the models of a run: by data set, then in the order of the run.

  Args:
    run: a run of `runs.read`.
    tell: called with a text for each cell.
    names: names of groups, shared by all runs.
    excluded: collects the models that cannot be scored; None: they are refused.

  Raises:
    UserError: damaged cells, or cells that a task cannot score.
  """
  names, out = names or groups.Names(), []
  for dataset in run.datasets:
    with exclusions.collect(excluded, run.name, dataset=dataset):
      task = run.task(dataset)
      sides = [
        Side.from_run(run, dataset, label, task, names)
        for label in run.labels(dataset)
      ]
      out += _score_dataset(sides, tell, excluded)
  return out


def _score_dataset(
  sides: Sequence[Side],
  tell: Callable[[str], None],
  excluded: list[Exclusion] | None,
) -> list[Scored]:
  """Return the models of one run over one data set."""
  run, dataset, task = sides[0].run, sides[0].dataset, sides[0].task
  task.check_baseline([side.model for side in sides])
  scorer, whole = base.Scorer(task, run.truth), []
  for side in sides:
    entry = {"dataset": dataset, "model": side.model}
    with exclusions.collect(excluded, run.name, **entry):
      for condition, cell in side.cells.items():
        scorer.add(cell, side.columns(condition))
        tell(f"{run.name}: {side.model} {condition.config}")
      whole.append(side)
  if not whole:
    return []
  label = baselines.model_label(task.setting.baseline)
  if label and label not in [side.model for side in whole]:
    raise errors.UserError(
      f"The baseline {label} was excluded, so nothing can be normalised."
    )
  _check_groups(whole)
  return _drawn_together(whole, scorer)


def _check_groups(sides: Sequence[Side]) -> None:
  """Refuse different groups of the same examples: a run's models are drawn together."""
  first: dict[str, tuple[str, Any]] = {}
  for side in sides:
    data = side.data()
    own = side.model, data["groups"]
    model, theirs = first.setdefault(str(data["ids"]), own)
    if theirs != data["groups"]:
      raise errors.UserError(
        f"{side.model} and {model} group the same examples differently, so they"
        " are not models of one run."
      )


def _drawn_together(sides: Sequence[Side], scorer: base.Scorer) -> list[Scored]:
  """Return the models of one run over one data set, after all cells were added."""
  cells = [cell for side in sides for cell in side.cells.values()]
  scored = scorer.scored(cells)
  baseline = _baseline(sides)
  return [
    Scored(
      side, _entry(side, scored), baseline, scored.headlines.get(side.model, {})
    )
    for side in sides
  ]


def _entry(side: Side, scored: base.RunScores) -> Entry:
  """Return the entry of a model on a board, without a key."""
  rows = [row for row in scored.rows if row.model == side.model]
  draws = scored.headlines.get(side.model, {})
  facts = side.task.facts
  kind = side.task.family.kind
  cells = board_lib.cells(rows, kind)
  return Entry(
    key="",
    label=side.model,
    model=side.model,
    run=side.run.name,
    seed=side.seed,
    data=side.data(),
    model_facts=side.model_facts.words(),
    numbers={
      key: _add_jackknife(number, draws.get(key), facts.metric(key[0]).bounds)
      for key, number in board_lib.numbers(rows, kind).items()
    },
    cells={c: cells.get(c, {}) for c in side.cells},
  )


def _baseline(sides: Sequence[Side]) -> str:
  """Return a published baseline's name, or the identity of a model of the run."""
  name = sides[0].task.setting.baseline
  label = baselines.model_label(name)
  if not label:
    return name
  (side,) = (s for s in sides if s.model == label)
  weights = next(iter(side.cells.values())).of_model or "unknown weights"
  return f"{label}, of the same run ({weights})"


def _add_jackknife(
  number: Number, drawn: Replicates | None, bounds: tuple[float, float]
) -> Number:
  """Return the number with the jackknife's interval, if the draws have one."""
  if drawn is None or number.lo is None:
    return number
  jackknife = spread.number(drawn, bounds, keeps_points=True).jackknife
  return dataclasses.replace(number, jackknife=jackknife)
