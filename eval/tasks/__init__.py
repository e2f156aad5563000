"""Tasks: what is kept of a model's outputs and which metrics follow.

A task's file holds

  COMMON: names that enter the benchmark's mean
  FLY: (config, codec) of the data that corruptions are made from on the fly
  conditions(data) -> the conditions of a config's `data`, clean first
  groups(names) -> {name: group}
  frames(condition, edition) -> images an example shows to the model
  transform(where, edition, codec) -> f(images, sizes, condition, keys), on the
    devices; sizes are None where all pictures have one size
  reducer(condition) -> f(logits) -> {name: array [B, ...]} in the jitted step
  columns(batch, outputs, condition) -> predictions' columns, valid rows only
  cell_rows(cell, columns) -> table rows of one cell
  keep(columns) -> what of a cell's columns the summaries need
  summary_rows(rows, baseline, names, kept) -> table rows over cells; `kept` maps
    (model, condition) to what `keep` gave
  check_baseline(baseline, labels) -> None, or ValueError
  published_networks(dataset) -> printed name -> (clean error, mean), or empty
  samples(image, key, conditions, edition) -> pictures for the reports
  model_classes(data, classes) -> optional: class counts of models that can run
  gallery(batches, columns, class_names) -> optional: what reports show of the
    only condition: title -> (picture, caption) pairs
  pairs(columns) -> optional: int [N, 2], the true and the predicted classes of
    a cell's examples, for confusion matrices

and, where the task needs it,

  KIND: of its models, if not `classification`
  per_model(source, condition, spec, plan) -> what gives a model's own batches,
    perturbed already, in place of `transform`
  SIZED: models also get the valid size of every canvas
  label_feature(features) -> the feature that knows the classes
  truth(source, workdir), read_truth(workdir) -> the ground truth; `cell_rows`
    then takes it as a third argument

The folder is the registry.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import pkgutil
import types
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Condition:
  """One state of the data: clean, or one corruption at one severity."""

  corruption: str = ""
  severity: int = 0

  @property
  def config(self) -> str:
    """The TFDS config's name."""
    return f"{self.corruption}_{self.severity}" if self.corruption else "clean"


@dataclasses.dataclass(frozen=True)
class Cell:
  """What the rows of one cell have in common.

  Attributes:
    model: label of the model within the run.
    dataset: dataset name.
    config: TFDS config name, `clean` or `<corruption>_<severity>`.
    corruption: its name, empty for clean.
    severity: 1-5, 0 for clean.
    seed: the run's seed.
    fingerprint: see `eval/provenance.py`.
  """

  model: str
  dataset: str
  config: str
  corruption: str
  severity: int
  seed: int = 0
  fingerprint: str = ""


def names() -> tuple[str, ...]:
  """Names of all tasks."""
  return tuple(m.name for m in pkgutil.iter_modules(__path__))


def get(name: str) -> types.ModuleType:
  """A task's module; ValueError with a suggestion for an unknown name."""
  if name not in names():
    raise unknown("task", name, names())
  return importlib.import_module(f"{__name__}.{name}")


def unknown(kind: str, got: object, known: Iterable[str]) -> ValueError:
  """The error for a name that is not there, with the nearest known one."""
  known = list(known)
  near = difflib.get_close_matches(str(got), known, n=1)
  hint = f" Did you mean {near[0]!r}?" if near else ""
  return ValueError(f"Unknown {kind} {got!r}.{hint} Known: {', '.join(known)}.")
