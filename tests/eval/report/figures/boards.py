"""Made-up boards of every task, from the made-up tables of the reports."""

import dataclasses
import pathlib
import types
from typing import Any

import numpy as np

from eval import papers
from eval.cells.number import Key, Number
from eval.compare.boards import board as board_lib
from eval.report.figures import base
from eval.tables.context import Context
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from tests.eval.report.reports import contexts

RUN = "made_up"
# Numbers that the made-up tables lack, each as one that they have.
_LIKE = {
  "classification": {"relative_mce": "mce", "mean_corruption_error": "mce"},
  "frames": {"acc_static_worst": "acc_pmk"},
}
# Of a cell, and of the benchmark of one condition.
_HEADLINES = (
  *("acc_orig", "acc_pmk", "drop"),
  *("seen_subtype_accuracy", "unseen_subtype_accuracy"),
)


def data_of(dataset: str) -> dict[str, Any]:
  """Facts of data that are those of the printed numbers of a data set."""
  of = papers.protocol(dataset)
  facts = {name: values[0] for name, values in of.facts.items()} if of else {}
  return {"dataset": dataset, **facts}


def beside(one: board_lib.Board, dataset: str) -> board_lib.Board:
  """The board, over the data that the printed numbers of a data set are of."""
  data = data_of(dataset)
  entries = [dataclasses.replace(e, data=data) for e in one.entries]
  return dataclasses.replace(
    one, dataset=dataset, title=dataset, data=data, entries=entries
  )


def board(task: str, *, run: str = RUN, **changes: Any) -> board_lib.Board:
  """A board with two models that have every number of the task."""
  if task in ("classification", "sequences"):
    family = {"classification": conditions.PICTURES}
    names = family.get(task, conditions.SEQUENCES).names("common")
    changes.setdefault("names", names)
  context = contexts.of_task(task, **changes)
  entries = [_entry(context, model, run) for model in context.models]
  return board_lib.Board(
    key=f"{task}-{run}",
    title=context.dataset,
    facts=context.facts,
    family=context.family,
    dataset=context.dataset,
    data={"dataset": context.dataset},
    differs={},
    baseline="",
    ranked_by="",
    conditions=list(entries[0].cells),
    entries=entries,
  )


def request(
  task: str, folder: pathlib.Path | None = None, **changes: Any
) -> base.Request:
  """A board, and the cells of its models.

  Args:
    task: its name.
    folder: of the run.
    **changes: of the board.
  """
  one = board(task, **changes)
  return base.Request(
    boards=[one], scored=[_scored(one, e, folder) for e in one.entries]
  )


def _scored(one: board_lib.Board, entry: board_lib.Entry, folder: Any) -> Any:
  """What figures take of a model's cells."""
  run = types.SimpleNamespace(
    name=entry.run,
    task_name=one.task,
    folders=(folder,) if folder else (),
    class_names=["cat_0", "dog", "newt"],
  )
  task = types.SimpleNamespace(
    facts=one.facts,
    pairs=lambda c: np.stack([c["label"], c["top5"][:, 0]], axis=1),
    group_ids=lambda c: c["group_id"],
  )
  side = types.SimpleNamespace(
    run=run,
    dataset=one.dataset,
    model=entry.model,
    task=task,
    cells=entry.cells,
    columns=_columns,
  )
  return types.SimpleNamespace(side=side, draws={})


def _columns(condition: Condition) -> dict[str, np.ndarray]:
  """Six videos, or frames of two anchors; harder at higher severities."""
  label = np.array([0, 0, 1, 1, 2, 2])
  top5 = np.repeat(label[:, None], 5, axis=1)
  top5[: condition.level] = (top5[: condition.level] + 1) % 3
  return {
    "label": label,
    "top5": top5,
    "frame": np.array([0, -1, 1, 0, -1, 1]),
    "group_id": np.repeat(["a", "b"], 3),
    "reviewed": np.array([1, 1, 0, 1, 1, 1], bool),
  }


def _entry(context: Context, model: str, run: str) -> board_lib.Entry:
  numbers: dict[Key, Number] = {}
  cells: dict[Condition, dict[str, Number]] = {}
  for row in context.rows:
    if row.model != model:
      continue
    number = Number(row.value, row.lo, row.hi, row.n, row.note)
    if row.config:
      kind = context.family.kind
      condition = Condition(row.corruption, row.severity or 0, kind)
      cells.setdefault(condition, {})[row.metric] = number
    if not row.config or row.metric in _HEADLINES:
      level = None if row.metric in _HEADLINES else row.severity
      numbers[row.metric, row.corruption, level] = number
  if context.task == "video":
    numbers |= _groups(numbers)
  for metric, like in _LIKE.get(context.task, {}).items():
    numbers[metric, "", None] = numbers[like, "", None]
  if context.task == "frames":
    clean = cells[Condition()]
    clean |= {f"{m}/fps=25": clean[m] for m in ("acc_orig", "acc_pmk")}
  return board_lib.Entry(
    key=f"{model}-{run}",
    label=model,
    model=model,
    run=run,
    seed=0,
    model_facts={"trained_on": "from scratch"},
    numbers=numbers,
    cells=cells,
  )


def _groups(numbers: dict[Key, Number]) -> dict[Key, Number]:
  """Numbers of groups, which the made-up tables do not have."""
  return {
    (f"{measure}/{group}", "", None): numbers[measure, "", None]
    for measure in ("gamma_a", "gamma_r")
    for group in conditions.VIDEOS.groups
  }


def normalised(task: str, *, run: str = RUN) -> board_lib.Board:
  """A board whose models have a mean over AlexNet and a number a condition."""
  out = board(task, run=run)
  metrics = {
    "classification": {"mce": "ce", "relative_mce": "relative_ce"},
    "sequences": {"mfr": "fr", "mt5d": "t5d"},
  }[task]
  level = 1 if task == "sequences" else None
  for i, entry in enumerate(out.entries):
    numbers = {("clean_error", "", None): Number(0.3, 0.28, 0.33)}
    for mean, detail in metrics.items():
      value = 0.7 + 0.1 * i + 0.01 * len(mean)
      number = Number(value, value - 0.02, value + 0.03)
      numbers[mean, "", level] = number
      for name in out.family.names("common"):
        numbers[detail, name, level] = number
    dict.update(entry.numbers, numbers)  # type: ignore[arg-type]
  return out
