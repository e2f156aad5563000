"""Reports: one file each, every one a pivot of the table.

A report's file holds

  TASKS: tuple of task names it is for, e.g. `("classification",)`
  PICTURES: optional (file, title) pairs that the page of `html.py` shows
  write(context, folder) -> the files it wrote

The folder is the registry; `html.py` runs last and gathers the others. Reports
read the context alone, never a model or a dataset.
"""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
import pkgutil
import types
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from eval.results import table
from eval.results.facts import TaskFacts


@dataclasses.dataclass(frozen=True)
class Context:
  """All that a report may read.

  Attributes:
    facts: names, order and sense of the task's numbers.
    dataset: dataset name.
    rows: the table.
    corruptions: names in paper order, those of the run, `common` ones first.
    groups: name -> group (`noise`, `blur`, `weather`, `digital`, ...).
    common: names that enter mCE and its kind.
    baseline: what normalised numbers are divided by, in words, with source.
    samples: (corruption, severity) -> uint8 `[H, W, 3]` of one example, or
      `[T, H, W, 3]` of sequences; clean is `("", 0)`. May be empty.
    predicted: (model, corruption, severity) -> the class ids predicted of that
      example, best first, int `[5]`, or `[T, 5]` of sequences. May be empty.
    class_names: names in label order; may be empty.
    provenance: lines for the foot of each report: versions, seed, weights, data.
    published: printed numbers to set beside ours: label -> metric -> value, or
      metric -> corruption -> value; with a `source` key each.
    networks: printed name -> the paper's (clean error, benchmark's mean) of
      other networks, for figures.
    gallery: title -> (uint8 `[H, W, 3]`, caption) pairs that a task picked.
    overlays: title -> (uint8 `[H, W, 3]`, boxes) pairs, a box being (`hit`,
      `missed` or `wrong`, (x1, y1, x2, y2) in px, text).
    confusions: (model, corruption, severity) -> int `[N, 2]`, the true and the
      predicted class of every example; where the task gives them.
    gflops: model -> published multiply-adds of one input in billions.
    timing: stage -> seconds, or empty.
  """

  facts: TaskFacts
  dataset: str
  rows: Sequence[table.Row]
  corruptions: Sequence[str]
  groups: Mapping[str, str]
  common: Sequence[str]
  baseline: str
  samples: Mapping[tuple[str, int], np.ndarray] = dataclasses.field(
    default_factory=dict
  )
  predicted: Mapping[tuple[str, str, int], np.ndarray] = dataclasses.field(
    default_factory=dict
  )
  class_names: Sequence[str] = ()
  provenance: Sequence[str] = ()
  published: Mapping[str, Mapping[str, object]] = dataclasses.field(
    default_factory=dict
  )
  networks: Mapping[str, Sequence[float]] = dataclasses.field(
    default_factory=dict
  )
  gallery: Mapping[str, Sequence[tuple[np.ndarray, str]]] = dataclasses.field(
    default_factory=dict
  )
  overlays: Mapping[str, Sequence[tuple]] = dataclasses.field(
    default_factory=dict
  )
  confusions: Mapping[tuple[str, str, int], np.ndarray] = dataclasses.field(
    default_factory=dict
  )
  gflops: Mapping[str, float] = dataclasses.field(default_factory=dict)
  timing: Mapping[str, float] = dataclasses.field(default_factory=dict)

  @property
  def task(self) -> str:
    """The task's name."""
    return self.facts.task

  @property
  def models(self) -> list[str]:
    """Labels of the models in the order of the table.

    Rows over all models have an empty label, which is none of them.
    """
    return list(dict.fromkeys(r.model for r in self.rows if r.model))


def modules(task: str) -> list[types.ModuleType]:
  """The reports for a task; the ones with `LAST = True` at the end."""
  found = [
    importlib.import_module(f"{__name__}.{m.name}")
    for m in pkgutil.iter_modules(__path__)
  ]
  fit = [m for m in found if task in getattr(m, "TASKS", ())]
  return sorted(fit, key=lambda m: getattr(m, "LAST", False))


def write_all(context: Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes every report of the context's task into `folder`."""
  folder.mkdir(parents=True, exist_ok=True)
  written: list[pathlib.Path] = []
  for module in modules(context.task):
    written.extend(module.write(context, folder))
  return written
