"""The table and reports of a workdir again, from its finished cells alone.

Needs no accelerator, model or data: a metric can be added or mended after the
run. The table of a finished run comes out byte for byte the same.
"""

from __future__ import annotations

import json
import pathlib
import types
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

import ml_collections
import numpy as np

from eval import reports
from eval import tasks
from eval.metrics import corruption_error
from eval.results import predictions
from eval.results import table


def rows(
  task: types.ModuleType,
  cells: Iterable[tuple[tasks.Cell, tasks.Condition, Mapping[str, np.ndarray]]],
  baseline: str,
  order: Sequence[str],
  truth: object = None,
) -> list[table.Row]:
  """The whole table of some cells: theirs, then the summaries.

  Args:
    task: a module of `eval/tasks/`.
    cells: what describes each cell, its condition, its predictions.
    baseline: as `summary_rows` of the task takes it.
    order: corruptions in the order of the table.
    truth: what the task's `truth` made; for tasks that have one.
  """
  out: list[table.Row] = []
  kept = {}
  for cell, condition, columns in cells:
    out += cell_rows(task, cell, columns, truth)
    kept[cell.model, condition] = task.keep(columns)
  return out + task.summary_rows(out, baseline, order, kept)


def confusions(
  task: types.ModuleType,
  cells: Iterable[tuple[str, tasks.Condition, Mapping[str, np.ndarray]]],
) -> dict[tuple[str, str, int], np.ndarray]:
  """`reports.Context.confusions` of (model, condition, predictions)."""
  if not hasattr(task, "pairs"):
    return {}
  return {
    (model, c.corruption, c.severity): task.pairs(columns)
    for model, c, columns in cells
  }


def cell_rows(
  task: types.ModuleType,
  cell: tasks.Cell,
  columns: Mapping[str, np.ndarray],
  truth: object,
) -> list[table.Row]:
  """A cell's rows, from its predictions and where needed the ground truth."""
  if hasattr(task, "truth"):
    return task.cell_rows(cell, columns, truth)
  return task.cell_rows(cell, columns)


def workdir(
  path: pathlib.Path, baseline: str | None = None
) -> tuple[list[table.Row], reports.Context]:
  """A workdir's table and what its reports need (no pictures of examples).

  Args:
    path: of a run of `eval.main`, finished or not.
    baseline: another one than the run's.

  Raises:
    ValueError: no workdir, or no finished cell in it.
  """
  config = config_of(path)
  name = config.get("task", "classification")
  task = tasks.get(name)
  conditions = task.conditions(config.data)
  baseline = config.get("baseline", "") if baseline is None else baseline
  found = []
  for label in labels(config):
    for condition in conditions:
      folder = cell_folder(path, config, label, condition)
      if predictions.done(folder):
        columns, described = predictions.read(folder)
        found.append((tasks.Cell(**described), condition, columns))
  if not found:
    raise ValueError(f"{path} holds no finished cells yet.")
  task.check_baseline(
    baseline, list(dict.fromkeys(c.model for c, _, _ in found))
  )
  order = tuple(
    dict.fromkeys(c.corruption for _, c, _ in found if c.corruption)
  )
  truth = task.read_truth(path) if hasattr(task, "truth") else None
  made = rows(task, found, baseline, order, truth)
  return made, reports.Context(
    task=name,
    dataset=config.data.name,
    rows=made,
    corruptions=order,
    groups=task.groups(order),
    common=task.COMMON,
    baseline=corruption_error.describe(baseline),
    networks=task.published_networks(config.data.name),
    confusions=confusions(task, ((c.model, d, p) for c, d, p in found)),
    provenance=(
      f"scored again from {len(found)} of"
      f" {len(conditions) * len(labels(config))} cells",
    ),
  )


def config_of(workdir: pathlib.Path) -> ml_collections.ConfigDict:
  """The config of a run.

  Raises:
    ValueError: no workdir.
  """
  path = workdir / "config.json"
  if not path.exists():
    raise ValueError(f"{workdir} is no workdir: it holds no config.json.")
  return ml_collections.ConfigDict(json.loads(path.read_text("utf-8")))


def cell_folder(
  workdir: pathlib.Path,
  config: ml_collections.ConfigDict,
  label: str,
  condition: tasks.Condition,
) -> pathlib.Path:
  """Where a run keeps the cell of a model and a condition."""
  return predictions.folder(
    workdir / "cells",
    label,
    config.data.name,
    condition.config,
    f"seed{config.seed}",
  )


def labels(config: ml_collections.ConfigDict) -> list[str]:
  """Labels of a run's models."""
  if "model" in config and config.model.get("name"):
    return [config.model.get("label") or config.model.name]
  return list(config.get("models", {}))
