"""One model of a run over one data set, and its facts in words.

Cells have stored facts. For workdirs without them and other programs'
predictions the run's config has a part; the rest is None, unknown.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eval.cells import cell_facts, groups, provenance
from eval.cells import workdir as workdir_lib
from eval.cells.cell import Cell
from eval.cells.cell_facts import DataFacts, ModelFacts
from eval.readers.base import Run
from eval.tasks import base
from robust_tfds import conditions as conditions_lib
from robust_tfds.conditions import Condition


@dataclasses.dataclass(frozen=True)
class Side:
  """The cells of one model.

  Attributes:
    run: the model's run.
    dataset: its name.
    model: its label in the run.
    task: the task, bound to the run's settings.
    cells: the cells in the order of the conditions.
    names: names of groups, shared by all compared sides.
  """

  run: Run
  dataset: str
  model: str
  task: base.Task
  cells: Mapping[Condition, Cell]
  names: groups.Names

  @classmethod
  def from_run(
    cls,
    run: Run,
    dataset: str,
    model: str,
    task: base.Task | None = None,
    names: groups.Names | None = None,
  ) -> Side:
    """Create the side of one model of a run, which has cells of the data set."""
    cells = {c.condition: c for c in run.cells_of(dataset, model)}
    task, names = task or run.task(dataset), names or groups.Names()
    return cls(run, dataset, model, task, cells, names)

  def columns(self, condition: Condition) -> base.Columns:
    """Return the predictions of a cell, with the groups' names of the first side."""
    return self.names.rename(
      self.dataset, self.run.columns(self.cells[condition])
    )

  def data(self, conditions: Sequence[Condition] = ()) -> dict[str, Any]:
    """Return facts of the data in words, and `ids`, `labels`, `groups`.

    `content` is left out: it differs between conditions, and between machines
    whose prepared files hold the same pixels.

    Args:
      conditions: conditions of the cells; empty: all.
    """
    words = [self._words[c] for c in conditions or self.cells]
    names = dict.fromkeys(name for of_cell in words for name in of_cell)
    out = {name: _common([w.get(name) for w in words]) for name in names}
    del out["content"]
    return out

  @functools.cached_property
  def _words(self) -> dict[Condition, dict[str, Any]]:
    """The facts of every cell's data and examples, in words."""
    return {
      condition: {**self.data_facts(cell).words(), **self._examples(cell)}
      for condition, cell in self.cells.items()
    }

  def data_facts(self, cell: Cell) -> DataFacts:
    """Return the facts of the data of one of its cells."""
    return cell.data or self._config_facts(cell)

  @property
  def model_facts(self) -> ModelFacts:
    """The facts of the model."""
    cell = self._first
    return cell.model_facts or ModelFacts(
      name=self.run.model_names.get(cell.model),
      random=cell.random,
      without_output=cell.without_output,
    )

  @property
  def seed(self) -> int:
    """The run's seed."""
    return self._first.seed

  @property
  def remarks(self) -> list[str]:
    """The remarks in every row of the model."""
    cells = self.cells.values()
    return list(dict.fromkeys(r for cell in cells for r in cell.remarks))

  @property
  def _first(self) -> Cell:
    return next(iter(self.cells.values()))

  def _config_facts(self, cell: Cell) -> DataFacts:
    setting, stated = self.task.setting, self.task.setting.data
    if self._is_elsewhere:
      return DataFacts(
        dataset=cell.dataset,
        source=cell_facts.ELSEWHERE,
        subset=stated.get("subset", ""),
        settings=self.task.data_facts(),
        # Scored by this code, from what the other program predicted.
        metric=provenance.METRICS_VERSION,
      )
    home = self.run.home
    return DataFacts(
      dataset=cell.dataset,
      config=stated.get("config"),
      split=stated.get("split"),
      subset=stated.get("subset", ""),
      source="fly" if setting.fly else "prepared",
      codec=setting.codec,
      geometry=stated.get("geometry", ""),
      settings=self.task.data_facts(),
      pixels=home(cell).versions()["pixels"] if home else None,
    )

  @property
  def _is_elsewhere(self) -> bool:
    """Whether another program made the predictions: its models are only labels."""
    return not any(workdir_lib.models_of(self.run.config).values())

  def _examples(self, cell: Cell) -> dict[str, Any]:
    """Return number, ids, labels and groups of a cell's examples, as hashes."""
    home = self.run.home
    if home is None:
      return {}
    workdir = home(cell)
    split = workdir.note(cell).split
    return {
      "examples": split.examples,
      "ids": split.ids,
      "labels": split.labels or workdir.truth_sha256,
      "groups": groups.partition(workdir.example_columns(cell)),
    }


def seen_corruptions(
  model_facts: Mapping[str, Any], tested: Iterable[Condition]
) -> list[str]:
  """Return the names of tested conditions that a model was trained on."""
  trained = conditions_lib.same_operations(
    model_facts.get("corruptions_seen") or ()
  )
  return sorted({c.name for c in tested} & trained)


def seen_words(
  model_facts: Mapping[str, Any], tested: Iterable[Condition]
) -> str:
  """Return `seen_corruptions` in words, with disclosed severities; may be ''."""
  names, levels = (
    seen_corruptions(model_facts, tested),
    model_facts.get("severities_seen"),
  )
  return cell_facts.trained_on(names, levels) if names else ""


def _common(values: Sequence[Any]) -> Any:
  """Return the common value of all cells, or a list of the different ones."""
  different: list[Any] = []
  for value in values:
    if value not in different:
      different.append(value)
  return different[0] if len(different) == 1 else different
