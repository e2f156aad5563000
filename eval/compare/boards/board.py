"""`Board`: models that can be compared, as plain data.

CSVs, the site and figures read boards alone: no arrays of draws, no files and no
task. Numbers are as in the table: rates are fractions.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from eval.cells import cell_facts, table
from eval.cells.facts import TaskFacts
from eval.cells.number import Key, Number
from eval.cells.table import Row
from eval.metrics.definitions import Metric
from robust_tfds import conditions
from robust_tfds.conditions import Condition, Kind

T = TypeVar("T")

# States of an entry: whether it takes part in the ranking, and why not.
WHOLE = "whole"
PARTIAL = "partial"
SEEN = "trained on test conditions"
PRINTED = "printed"
# The hash of models whose weights cannot be read, such as plain functions.
_NO_WEIGHTS = hashlib.sha256().hexdigest()


def number_at(
  numbers: Mapping[Key, T],
  metric: str,
  corruption: str = "",
  level: int | None = None,
) -> T | None:
  """Return the value of a metric over cells; None if there is none.

  Args:
    numbers: numbers by metric, corruption and level.
    corruption: empty for the whole benchmark.
    level: difficulty; None: the only one, or the first.
  """
  keys = [(metric, corruption, level)]
  if level is None:
    keys.append((metric, corruption, 1))
  return next((numbers[k] for k in keys if k in numbers), None)


def numbers(rows: Iterable[Row], kind: Kind) -> dict[Key, Number]:
  """Return a model's numbers over cells, from its rows."""
  over = table.group_by_cell(rows, kind).get(None, [])
  return {(r.metric, r.corruption, r.severity): r.number for r in over}


def cells(
  rows: Iterable[Row], kind: Kind
) -> dict[Condition, dict[str, Number]]:
  """Return a model's numbers in each cell; see `numbers`."""
  return {
    condition: {r.metric: r.number for r in cell_rows}
    for condition, cell_rows in table.group_by_cell(rows, kind).items()
    if condition is not None
  }


def words_of(value: Any) -> str:
  """Format a fact's value; hashes are shortened.

  >>> words_of(None), words_of(""), words_of([224, 224]), words_of("0" * 64)
  ('unknown', 'none', '224 x 224', '000000000000...')
  """
  if value is None:
    return "unknown"
  if value in ("", [], {}):
    return "none"
  if isinstance(value, list):
    return " x ".join(map(str, value))
  text = str(value)
  return f"{text[:12]}..." if len(text) == 64 else text


@dataclasses.dataclass(frozen=True)
class Entry:
  """One model of one run over one data set, or a printed row.

  Attributes:
    key: letters, digits, `-`; no two entries of all boards share one, also
      without regard to case.
    label: what a board shows; no two entries of a board share one.
    model: its label in the run, or the printed name.
    run: name of the run's folder; empty for printed rows.
    seed: the run's seed; None for printed rows.
    data: facts of the data in words, and the hashes `ids`, `labels` and `groups`;
      None: unknown.
    model_facts: facts of the model, in words; None: unknown.
    numbers: numbers over cells.
    cells: condition -> metric -> number.
    state: `WHOLE`, `PARTIAL`, `SEEN` or `PRINTED`.
    remark: the state in words: which numbers are missing, which test conditions
      it was trained on, or how a printed row's protocol differs.
    rank: from 1; None if it is not ranked. Equal values share one.
    rank_range: best and worst rank that the 95 % intervals of paired differences
      allow; None if it is not ranked or has no draws.
    source: the source of a printed row.
  """

  key: str
  label: str
  model: str
  run: str = ""
  seed: int | None = None
  data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  model_facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  numbers: Mapping[Key, Number] = dataclasses.field(default_factory=dict)
  cells: Mapping[Condition, Mapping[str, Number]] = dataclasses.field(
    default_factory=dict
  )
  state: str = WHOLE
  remark: str = ""
  rank: int | None = None
  rank_range: tuple[int, int] | None = None
  source: str = ""

  @property
  def weights(self) -> str:
    """The sha256 of the model's weights; empty if unknown."""
    weights = self.model_facts.get("weights") or ""
    return "" if weights == _NO_WEIGHTS else str(weights)

  @property
  def printed(self) -> bool:
    """Whether it is a row that a paper prints rather than a model of a run."""
    return self.state == PRINTED

  @property
  def comparable(self) -> dict[str, Any]:
    """The facts of the data that entries of a board share.

    The ids define the examples, so a subset's name is left out if they are known.
    Decoders and the files of own corruptions may differ, and the board says so.
    """
    free = {
      "decoders",
      cell_facts.OWN,
      "subset" if self.data.get("ids") else "",
    }
    return {k: v for k, v in self.data.items() if k not in free}

  @property
  def missing(self) -> list[str]:
    """The names of facts that were not recorded."""
    facts = {**self.data, **self.model_facts}
    return [name for name, value in facts.items() if value is None]

  def number(
    self, metric: str, corruption: str = "", level: int | None = None
  ) -> Number | None:
    """Return a number over cells; None if the entry has no such number.

    Args:
      corruption: empty for the whole benchmark.
      level: difficulty; None: the only one, or the first.
    """
    return number_at(self.numbers, metric, corruption, level)


@dataclasses.dataclass(frozen=True)
class Board:
  """A board: entries over the same data.

  Attributes:
    key: letters, digits, `-`; no two boards share one.
    title: data set, and what distinguishes the board from the others of that
      set.
    facts: facts of the task: names, order and direction of its numbers.
    family: family of its conditions: names, groups, levels.
    dataset: name of the data set.
    data: facts of the data that all runs' entries share: name -> value.
    differs: name -> value of the facts in which the boards of one data set
      differ; empty if there is one board.
    baseline: what normalised numbers are divided by, in words; empty if nothing
      is normalised.
    ranked_by: name of the metric; empty if nothing is ranked.
    conditions: conditions of all entries, clean first, then in paper order.
    entries: ranked entries first, best first; then the others.
    notes: sentences that belong below the table.
  """

  key: str
  title: str
  facts: TaskFacts
  family: conditions.Family
  dataset: str
  data: Mapping[str, Any]
  differs: Mapping[str, Any]
  baseline: str
  ranked_by: str
  conditions: Sequence[Condition]
  entries: Sequence[Entry]
  notes: Sequence[str] = ()

  @property
  def task(self) -> str:
    """The task's name."""
    return self.facts.task

  @property
  def runs(self) -> list[Entry]:
    """The entries of runs, without printed rows."""
    return [e for e in self.entries if not e.printed]

  @property
  def headlines(self) -> list[Metric]:
    """The task's headline numbers that some entry has, in order."""
    return [
      metric
      for metric in self.facts.headlines
      if any(e.number(metric.name) for e in self.entries)
    ]
