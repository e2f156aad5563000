"""From a config to the cells of a run, checked before anything is touched."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import types
from collections.abc import Sequence
from typing import Any

import ml_collections

import models
from eval import tasks
from models.spec import Kind
from robust_tfds.corruptions import frost_pictures
from robust_tfds.corruptions import spec

# What may differ between two launches of one workdir: nothing here can change
# a number.
_FREE = (
  "batch_size",
  "data.cache_gib",
  "data.data_dir",
  "data.file_format",
  "data.manual_dir",
  "reports",
)


@dataclasses.dataclass(frozen=True)
class Plan:
  """A validated run.

  Attributes:
    task: name of the task.
    dataset: name of the corrupted dataset.
    edition: edition of its corruptions.
    conditions: clean first, then the corruptions in paper order.
    models: label -> its part of the config (`name`, `checkpoint`, `train`, ...).
    seed: the run's seed.
    config: the resolved config.
  """

  task: str
  dataset: str
  edition: str
  conditions: Sequence[tasks.Condition]
  models: dict[str, Any]
  seed: int
  config: ml_collections.ConfigDict

  @property
  def cells(self) -> int:
    """How many (model, condition) pairs there are."""
    return len(self.conditions) * len(self.models)

  @property
  def corruptions(self) -> tuple[str, ...]:
    """Names in the order of the table."""
    return tuple(
      dict.fromkeys(c.corruption for c in self.conditions if c.corruption)
    )


def make(config: ml_collections.ConfigDict) -> Plan:
  """Resolves and checks a config.

  Raises:
    ValueError: an unknown dataset, corruption, severity, model or task (with a
      suggestion), or settings that contradict each other.
    FileNotFoundError: a checkpoint or the frost pictures are not there.
  """
  from robust_tfds import datasets

  task = tasks.get(config.get("task", "classification"))
  edition = datasets.edition(config.data.name)
  conditions = task.conditions(config.data)
  labelled = _models(config, task)
  task.check_baseline(config.get("baseline", ""), list(labelled))
  if config.data.source not in ("fly", "prepared"):
    raise tasks.unknown("data.source", config.data.source, ("fly", "prepared"))
  if config.data.source == "fly" and any(
    c.corruption == "frost" for c in conditions
  ):
    if config.data.get("frost_dir"):
      frost_pictures.use_folder(config.data.frost_dir)
    frost_pictures.folder()
  return Plan(
    task=config.get("task", "classification"),
    dataset=config.data.name,
    edition=edition,
    conditions=conditions,
    models=labelled,
    seed=int(config.seed),
    config=config,
  )


def kind(task: types.ModuleType) -> Kind:
  """What a task's models do."""
  return getattr(task, "KIND", "classification")


def _models(
  config: ml_collections.ConfigDict, task: types.ModuleType
) -> dict[str, Any]:
  if "model" in config and config.model.get("name"):
    wanted = {config.model.get("label") or config.model.name: config.model}
  else:
    wanted = dict(config.get("models", {}).items())
  if not wanted:
    raise ValueError("The config names no model: set config.model.name.")
  for label, entry in wanted.items():
    # Refuses unknown names and dtypes, with a suggestion, and other kinds.
    models.get(
      entry.name, dtype=entry.get("dtype") or "float32", kind=kind(task)
    )
    checkpoint = entry.get("checkpoint", "")
    if checkpoint and not os.path.exists(checkpoint):
      raise FileNotFoundError(
        f"Checkpoint of {label}: {checkpoint} does not exist."
      )
    own = ":" in entry.name  # my_module:build brings its own weights
    if not checkpoint and not entry.get("train") and not own:
      raise ValueError(
        f"Model {label} has neither a checkpoint nor a training recipe; set"
        " --config.model.checkpoint=FILE (see models/convert)."
      )
  return wanted


def claim_workdir(plan: Plan, workdir: pathlib.Path) -> None:
  """Writes `config.json`, or checks that it is this run's.

  Raises:
    ValueError: the workdir belongs to another config; names what differs.
  """
  path = workdir / "config.json"
  ours = json.loads(plan.config.to_json_best_effort())
  if path.exists():
    theirs, now = _flat(json.loads(path.read_text("utf-8"))), _flat(ours)
    differ = sorted(
      k
      for k in theirs.keys() | now.keys()
      if k not in _FREE and theirs.get(k) != now.get(k)
    )
    if differ:
      listed = "; ".join(
        f"{k}: {theirs.get(k)!r} there, {now.get(k)!r} now" for k in differ
      )
      raise ValueError(
        f"{workdir} belongs to a run with another config ({listed}). Use"
        " another --workdir, or the old settings to continue that run."
      )
  temporary = path.with_suffix(".tmp")
  temporary.write_text(
    json.dumps(ours, indent=1, sort_keys=True) + "\n", "utf-8"
  )
  os.replace(temporary, path)


def _flat(tree: Any, prefix: str = "") -> dict[str, Any]:
  if not isinstance(tree, dict):
    return {prefix: tree}
  out: dict[str, Any] = {}
  for key, value in tree.items():
    out.update(_flat(value, f"{prefix}.{key}" if prefix else key))
  return out


def image_px(plan: Plan) -> int:
  """Side of the images that corruptions are timed on, px."""
  found = spec.EDITIONS.get(plan.edition)  # videos have editions of their own
  return (found.size_px if found else None) or 640


def examples(plan: Plan) -> int | None:
  """Examples of a cell, if the clean set is prepared already; else None."""
  from robust_tfds import datasets

  data = plan.config.data
  if data.get("limit"):
    return data.limit
  return datasets.prepared_examples(
    data.name, "clean", data.split, data_dir=data.data_dir or None
  )
