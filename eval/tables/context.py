"""`Context`: everything that a report may read."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.cells import table
from eval.cells.facts import TaskFacts
from eval.cells.files.overlay import Overlay
from eval.metrics.calibration import Bins
from eval.tables import verdict
from robust_tfds import conditions

# Of a cell of the data set: model, corruption, severity.
CellKey = tuple[str, str, int]


@dataclasses.dataclass(frozen=True)
class Context:
  """Everything that a report may read, never a model or a dataset.

  Attributes:
    facts: names, order and sense of the task's numbers.
    family: names, families and levels of the task's conditions.
    dataset: a caption: the dataset's name, and the subset's if there is one.
    rows: the table's rows that have a value.
    corruptions: the run's corruptions in paper order, `common` ones first.
    notes: the table's rows that have a note, e.g. why there is no value.
    baseline: what normalised numbers are divided by, in words, with source.
    samples: (corruption, severity) -> uint8 `[H, W, 3]` of one example, or
      `[T, H, W, 3]` of sequences; clean is `("", 0)`. May be empty.
    predicted: (model, corruption, severity) -> the class ids predicted for that
      example, best first, int `[5]`, or `[T, 5]` for sequences. May be empty.
    class_names: names in label order; may be empty.
    provenance: lines for the foot of each report: versions, seed, weights, data.
    published: printed numbers to compare with: label -> metric -> value, or
      metric -> corruption -> value; with a `source` key each.
    networks: printed name -> the paper's (clean error, benchmark's mean) of
      other networks, for figures.
    gallery: title -> (uint8 `[H, W, 3]`, caption) pairs chosen by the task.
    overlays: condition's config -> (uint8 `[H, W, 3]`, boxes) pairs, of the same
      pictures for every condition.
    overlay_note: which boxes they are, in words.
    maps: condition's config -> of the same pictures for every condition (uint8
      `[H, W, 3]`, its mask uint8 `[H, W]`, the first model's classes uint8
      `[H, W]`); 255 does not count.
    confusions: (model, corruption, severity) -> int `[N, 2]`, the true and the
      predicted class of every example; only of some tasks.
    reliability: (model, corruption, severity) -> the reliability diagram of the
      cell, if scores are known.
    curves: errors over a stream: (label, x, errors, names of conditions), of
      models that adapt.
    gflops: model -> published multiply-adds of one input in billions.
    citations: what to cite, as BibTeX.
    title: above a paper's figure; empty: none.
  """

  facts: TaskFacts
  family: conditions.Family
  dataset: str
  rows: Sequence[table.Row]
  corruptions: Sequence[str]
  notes: Sequence[table.Row] = ()
  baseline: str = ""
  samples: Mapping[tuple[str, int], np.ndarray] = dataclasses.field(
    default_factory=dict
  )
  predicted: Mapping[CellKey, np.ndarray] = dataclasses.field(
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
  overlays: Mapping[str, Sequence[tuple[np.ndarray, Sequence[Overlay]]]] = (
    dataclasses.field(default_factory=dict)
  )
  overlay_note: str = ""
  maps: Mapping[str, Sequence[tuple[np.ndarray, ...]]] = dataclasses.field(
    default_factory=dict
  )
  confusions: Mapping[CellKey, np.ndarray] = dataclasses.field(
    default_factory=dict
  )
  reliability: Mapping[CellKey, Bins] = dataclasses.field(default_factory=dict)
  curves: Sequence[Any] = ()
  gflops: Mapping[str, float] = dataclasses.field(default_factory=dict)
  citations: str = ""
  title: str = ""

  @property
  def task(self) -> str:
    """The task's name."""
    return self.facts.task

  @property
  def models(self) -> list[str]:
    """Labels of the models in the order of the table.

    The empty label of rows over all models is not among them.
    """
    return list(dict.fromkeys(r.model for r in self.rows if r.model))

  @functools.cached_property
  def verdict(self) -> list[str]:
    """A sentence per model, see `tables/verdict.py`."""
    return verdict.sentences(self.facts, self.family, self.rows)

  @property
  def metrics(self) -> set[str]:
    """The metrics of the table, with a value or without."""
    return {r.metric for r in (*self.rows, *self.notes)}

  @functools.cached_property
  def rows_of(self) -> Mapping[tuple[str, str], Sequence[table.Row]]:
    """(model, metric) -> its rows, in the order of the table."""
    out: dict[tuple[str, str], list[table.Row]] = {}
    for row in self.rows:
      out.setdefault((row.model, row.metric), []).append(row)
    return out

  @property
  def common(self) -> list[str]:
    """The run's corruptions that enter the published means, in paper order."""
    names = self.family.names("common")
    return [n for n in self.corruptions if n in names]

  @property
  def extra(self) -> list[str]:
    """The run's corruptions that are published separately, C-bar's too."""
    others = (*self.common, *self.own)
    return [n for n in self.corruptions if n not in others]

  @property
  def own(self) -> list[str]:
    """The run's corruptions that the user added."""
    names = self.family.names("own")
    return [n for n in self.corruptions if n in names]

  @property
  def missing(self) -> list[str]:
    """The common corruptions that the run lacks: they prevent the mean."""
    return [n for n in self.family.names("common") if n not in self.corruptions]

  def class_name(self, index: int) -> str:
    """Return the name of a class, or its number if names are unknown."""
    names = self.class_names
    return names[index] if 0 <= index < len(names) else str(index)

  def group(self, corruption: str) -> str:
    """Return the family of a corruption: `noise`, `blur`, `weather`, ..."""
    return self.family.row(corruption).group
