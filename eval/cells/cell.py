"""A cell: one model under one condition of a data set, the unit of results."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence

from eval.cells import cell_facts, provenance, table
from eval.cells.cell_facts import DataFacts, ModelFacts
from eval.cells.files import note as note_lib
from eval.cells.number import Number
from robust_tfds import conditions

Interval = tuple[float | None, float | None]
_NONE: Interval = (None, None)
# In the note of every row of a model of which it is true.
RANDOM = "random model"
UNCALIBRATED = "outputs in [0, 1] whose sums differ: no calibration"
_TRAINED_ON = "trained on "
ADAPTS = "adapts while tested: "
_WITHOUT_OUTPUT = re.compile(r"(\d+) classes? without an output")


@dataclasses.dataclass(frozen=True)
class Cell:
  """The common facts of the rows of one cell.

  Attributes:
    model: label of the model within the run.
    dataset: dataset name.
    condition: clean, or a corruption at a level.
    seed: the run's seed.
    fingerprint: see `eval/cells/provenance.py`.
    random: whether repeated calls of the model differ; every row of the cell
      says so.
    without_output: number of the data set's classes that the model has no
      output for, so that it never answers them; every row of the cell says so.
    of_model: the part of the fingerprint that depends only on the model; empty
      if unknown.
    data: facts of its data, in words; None if not recorded.
    model_facts: facts of its model; None if not recorded.
  """

  model: str
  dataset: str
  condition: conditions.Condition
  seed: int = 0
  fingerprint: str = ""
  random: bool = False
  without_output: int = 0
  of_model: str = ""
  # The fingerprint covers both.
  data: DataFacts | None = dataclasses.field(default=None, compare=False)
  model_facts: ModelFacts | None = dataclasses.field(
    default=None, compare=False
  )

  @property
  def name(self) -> str:
    """The corruption's name; empty for clean."""
    return self.condition.name

  @property
  def level(self) -> int:
    """The severity or difficulty; 0 for clean."""
    return self.condition.level

  def row(
    self,
    metric: str,
    value: float,
    interval: Interval = _NONE,
    n: int | None = None,
    *,
    level: int | None = None,
    note: str = "",
  ) -> table.Row:
    """Return a row of the table about this cell.

    Args:
      interval: (lo, hi), None if there is none.
      n: number of examples.
      level: in the column `severity`; the condition's if None.
      note: a note on the number.
    """
    where = self.condition.config, self.name
    severity = self.level if level is None else level
    return _row(
      self, (*where, severity), metric, Number(value, *interval, n, note)
    )

  @property
  def seen_names(self) -> tuple[str, ...]:
    """The names of its benchmark's conditions that the model was trained on."""
    facts = self.model_facts
    names = (facts and facts.corruptions_seen) or ()
    return conditions.family(self.condition.kind).trained_names(names)

  @property
  def conditions_seen(self) -> frozenset[conditions.Condition]:
    """The conditions of `seen_names`; for videos only at the severities in the
    training data.

    Videos are used at severities 1-3 for training and at 4 and 5 for testing
    (Schiappa et al. 2023, 6.4); means over pictures include all severities of a
    corruption.
    """
    family, facts = conditions.family(self.condition.kind), self.model_facts
    levels: Sequence[int] = conditions.SEVERITIES
    if facts and facts.severities_seen and family is conditions.VIDEOS:
      levels = facts.severities_seen
    every = (
      family.condition(n, v) for n in self.seen_names for v in family.levels(n)
    )
    return frozenset(c for c in every if c.level in levels)

  @property
  def remarks(self) -> tuple[str, ...]:
    """The remarks on the model in every row."""
    levels = self.model_facts.severities_seen if self.model_facts else None
    words = f"{_TRAINED_ON}{cell_facts.trained_on(self.seen_names, levels)}"
    seen = words * bool(self.seen_names)
    count = self.without_output
    plural = "es" * (count != 1)
    missing = f"{count} class{plural} without an output" if count else ""
    facts = self.model_facts
    adapts = (
      f"{ADAPTS}{cell_facts.adaptation_words(facts.adaptation)}"
      if facts and facts.adaptation
      else ""
    )
    scores = UNCALIBRATED * bool(facts and facts.outputs == "scores")
    return tuple(
      filter(None, (RANDOM * self.random, missing, scores, seen, adapts))
    )

  def note(self) -> dict[str, object]:
    """Return the cell in the form of its note on disk."""
    known = {
      "random": self.random,
      "without_output": self.without_output,
      "of_model": self.of_model,
      "data": self.data and self.data.model_dump(),
      "by": self.model_facts and self.model_facts.model_dump(),
    }
    return {
      "model": self.model,
      "dataset": self.dataset,
      "config": self.condition.config,
      "corruption": self.name,
      "severity": self.level,
      "kind": self.condition.kind,
      "seed": self.seed,
      "fingerprint": self.fingerprint,
      **{name: value for name, value in known.items() if value},
    }

  @property
  def place(self) -> tuple[str, str, str, str]:
    """The names of its nested folders."""
    return self.model, self.dataset, self.condition.config, f"seed{self.seed}"

  @classmethod
  def from_note(cls, note: note_lib.Note) -> Cell:
    """Create the cell of a note, the inverse of `note`.

    Raises:
      UserError: its condition is unknown.
    """
    condition = conditions.family(note.kind).parse(note.config)
    return cls(
      model=note.model,
      dataset=note.dataset,
      condition=condition,
      seed=note.seed,
      fingerprint=note.fingerprint,
      random=note.random,
      without_output=note.without_output,
      of_model=note.of_model,
      data=note.data,
      model_facts=note.model_facts,
    )


@dataclasses.dataclass(frozen=True)
class Summary:
  """The common facts of rows over several cells of one model."""

  model: str
  dataset: str
  seed: int
  fingerprint: str
  remarks: tuple[str, ...] = ()

  @classmethod
  def from_rows(cls, rows: Sequence[table.Row], baseline: str = "") -> Summary:
    """Create it from the rows of one model's cells."""
    first = rows[0]
    facts = {
      "cells": sorted({r.fingerprint for r in rows}),
      "baseline": baseline,
    }
    mark = provenance.fingerprint(facts)
    notes = dict.fromkeys(p for r in rows for p in r.note.split("; "))
    remarks = tuple(filter(_is_remark, notes))
    return cls(first.model, first.dataset, first.seed, mark, remarks)

  def row(
    self,
    name: str,
    metric: str,
    value: float | None,
    interval: Interval = _NONE,
    n: int | None = None,
    *,
    level: int | None = None,
    note: str = "",
  ) -> table.Row:
    """Return a row over cells.

    Args:
      name: name of the corruption; empty for the whole benchmark.
      value: its value; None if there is none.
      interval: (lo, hi), None if there is none.
      n: number of examples.
      level: difficulty, if the metric has one.
      note: a note on the number, or why there is no value.
    """
    return _row(
      self, ("", name, level), metric, Number(value, *interval, n, note)
    )


def _row(
  source: Cell | Summary,
  where: tuple[str, str, int | None],
  metric: str,
  number: Number,
) -> table.Row:
  """Return a row of the table.

  Args:
    source: the cell or summary.
    where: config, corruption, severity.
    number: the number, whose ends may be nan.
  """
  config, corruption, severity = where
  value = float(number.or_nan)
  return table.Row(
    model=source.model,
    dataset=source.dataset,
    config=config,
    corruption=corruption,
    severity=severity,
    metric=metric,
    value=value,
    lo=_float(number.lo),
    hi=_float(number.hi),
    n=number.n,
    seed=source.seed,
    note=_joined(
      number.note or ("undefined" if math.isnan(value) else ""), source.remarks
    ),
    fingerprint=source.fingerprint,
  )


def _joined(note: str, remarks: Sequence[str]) -> str:
  parts = (*note.split("; "), *remarks)  # a cell's own note has its remarks
  return "; ".join(dict.fromkeys(filter(None, parts)))


def _is_remark(part: str) -> bool:
  known = part in (RANDOM, UNCALIBRATED) or part.startswith(
    (_TRAINED_ON, ADAPTS)
  )
  return known or bool(_WITHOUT_OUTPUT.fullmatch(part))


def _float(value: float | None) -> float | None:
  return None if value is None or math.isnan(value) else float(value)
