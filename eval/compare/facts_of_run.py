"""What is known of a model's cells: facts of the data and of the model, in words.

Cells since facts are stored say it themselves. Of older workdirs and of other
programs' predictions the run's config says a part; the rest is None, unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import provenance
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.cells.cell_facts import DataFacts, ModelFacts
from robust_tfds.eval.readers.base import Run
from robust_tfds.eval.tasks import base

ELSEWHERE = "elsewhere"


def data(run: Run, task: base.Task, cells: Sequence[Cell]) -> dict[str, Any]:
  """Facts of the data of one model's cells, and `ids`, `labels`.

  Without `content`, which differs between conditions and between machines whose
  prepared files hold the same pixels.

  Args:
    run: whose cells they are.
    task: bound to its settings.
    cells: of one model.
  """
  facts = [data_of(run, task, cell) for cell in cells]
  words = [{**f.words(), **_examples(run, c)} for f, c in zip(facts, cells)]
  out = {name: _one([w.get(name) for w in words]) for name in words[0]}
  del out["content"]
  return out


def model(run: Run, cells: Sequence[Cell]) -> dict[str, Any]:
  """Facts of the model of some cells, which is one."""
  return model_of(run, cells[0]).words()


def seen(
  model_facts: Mapping[str, Any], tested: Iterable[Condition]
) -> list[str]:
  """Names of tested conditions that the model was trained on.

  Args:
    model_facts: see `model`.
    tested: conditions of cells.
  """
  names = {condition.name for condition in tested}
  return [n for n in model_facts.get("corruptions_seen") or [] if n in names]


def model_of(run: Run, cell: Cell) -> ModelFacts:
  """What is known of a cell's model."""
  return cell.model_facts or ModelFacts(
    name=run.model_names.get(cell.model),
    random=cell.random,
    without_output=cell.without_output,
  )


def data_of(run: Run, task: base.Task, cell: Cell) -> DataFacts:
  """What is known of a cell's data."""
  return cell.data or _of_config(run, task, cell)


def _of_config(run: Run, task: base.Task, cell: Cell) -> DataFacts:
  setting, stated = task.setting, task.setting.data
  if _is_elsewhere(run):
    return DataFacts(
      dataset=cell.dataset,
      source=ELSEWHERE,
      subset="",
      codec=setting.codec or None,
      settings=task.data_facts(),
      # Scored by this code, from what the other program predicted.
      metric=provenance.METRICS_VERSION,
    )
  return DataFacts(
    dataset=cell.dataset,
    config=stated.get("config"),
    split=stated.get("split"),
    subset=stated.get("subset", ""),
    source="fly" if setting.fly else "prepared",
    codec=setting.codec,
    geometry=stated.get("geometry", ""),
    settings=task.data_facts(),
    pixels=_pixels(run, cell),
  )


def _pixels(run: Run, cell: Cell) -> int | None:
  """The version that the workdir of a cell says, which may be an earlier one."""
  home = run.home
  return home(cell).versions()["pixels"] if home else None


def _is_elsewhere(run: Run) -> bool:
  """Whether another program made the predictions: models are labels alone."""
  config = run.config
  return not config.get("model") and not hasattr(config.get("models"), "items")


def _examples(run: Run, cell: Cell) -> dict[str, Any]:
  """How many, which, and with which labels."""
  home = run.home
  if home is None:
    return {}
  workdir = home(cell)
  split = workdir.split(cell)
  return {
    "examples": split.examples,
    "ids": split.ids,
    "labels": split.labels or workdir.truth_sha256,
  }


def _one(values: Sequence[Any]) -> Any:
  """The value of all cells; where they differ a list of the different ones."""
  different: list[Any] = []
  for value in values:
    if value not in different:
      different.append(value)
  return different[0] if len(different) == 1 else different
