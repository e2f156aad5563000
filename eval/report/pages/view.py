"""`View`: the metrics, corruptions and conditions that a board's pages show."""

import dataclasses
import functools
import statistics
from collections.abc import Iterable, Mapping

from eval.cells.number import Number
from eval.compare.boards.board import Board, Entry
from eval.metrics import definitions
from eval.metrics.definitions import Metric
from eval.tables import numbers as numbers_lib
from robust_tfds.conditions import Condition

_FEWEST = 3  # entries that have a median worth drawing
# Difficulties that boards show; models' pages show the harder ones too.
_FIRST = (None, 1)


@dataclasses.dataclass(frozen=True)
class View:
  """A board as pages show it."""

  board: Board

  def shown_metric(self, metric: str) -> Metric:
    """Return how a metric is shown."""
    return self.board.facts.metric(metric)

  @functools.cached_property
  def headlines(self) -> list[Metric]:
    """The numbers of the whole benchmark; first the ranking one and its parts."""
    ranked_by = self.board.ranked_by
    return sorted(
      self.board.headlines,
      key=lambda m: ranked_by not in (m.name, m.part_of or m.name),
    )

  @functools.cached_property
  def main(self) -> Metric | None:
    """The number that ranks, else the first of the benchmark."""
    return self.headlines[0] if self.headlines else None

  @functools.cached_property
  def other_metrics(self) -> list[Metric]:
    """The numbers of the whole benchmark that are not headlines."""
    stated = {m.name for m in self.headlines}
    present = dict.fromkeys(k[0] for k in self._keys if not k[1])
    return [self.shown_metric(name) for name in present if name not in stated]

  @functools.cached_property
  def details(self) -> list[Metric]:
    """The numbers of single corruptions, those that the task names first."""
    present = dict.fromkeys(k[0] for k in self._keys if k[1])
    stated = [m.name for m in self.board.facts.details if m.name in present]
    return [
      self.shown_metric(name) for name in dict.fromkeys((*stated, *present))
    ]

  @functools.cached_property
  def board_details(self) -> list[Metric]:
    """The details that a board's page shows; models' pages show all of them."""
    stated = {m.name for m in self.board.facts.details}
    first = {k[0] for k in self._keys if k[1] and k[2] in _FIRST}
    return [m for m in self.details if m.name in stated & first]

  @functools.cached_property
  def corruptions(self) -> list[str]:
    """The corruptions that have any number, in the papers' order."""
    named = {k[1] for k in self._keys} | {c.name for c in self.conditions}
    return [n for n in self.board.family.known_names if n in named]

  @functools.cached_property
  def conditions(self) -> list[Condition]:
    """The conditions that any entry has a cell of, clean first."""
    present = {c for e in self.board.entries for c in e.cells}
    return [c for c in self.board.conditions if c in present]

  @functools.cached_property
  def main_cell(self) -> str:
    """The main metric of the corrupted cells, or of the clean ones without any."""
    cells = [item for e in self.board.entries for item in e.cells.items()]
    cells.sort(key=lambda item: item[0].clean)
    return next((m for _, numbers in cells for m in numbers), "")

  @functools.cached_property
  def cell_metrics(self) -> list[Metric]:
    """The metrics of the cells, the main one first."""
    names = dict.fromkeys(
      [self.main_cell]
      + [m for e in self.board.entries for c in e.cells.values() for m in c]
    )
    return [self.shown_metric(name) for name in names if name]

  @functools.cached_property
  def medians(self) -> Mapping[Condition, float]:
    """The main metric's median over the entries, if there are enough of them."""
    values: dict[Condition, list[float]] = {}
    for entry in self.board.entries:
      for condition, numbers in entry.cells.items():
        value = numbers_lib.value_of(numbers.get(self.main_cell))
        if value is not None:
          values.setdefault(condition, []).append(value)
    return {
      c: statistics.median(v) for c, v in values.items() if len(v) >= _FEWEST
    }

  @property
  def groups(self) -> list[str]:
    """The families of the corruptions, in the papers' order."""
    family = self.board.family
    return list(dict.fromkeys(family.row(n).group for n in self.corruptions))

  @property
  def tokens(self) -> list[str]:
    """The tokens by which the index filters boards."""
    groups = sorted(f"group:{group}" for group in self.groups)
    return [*self.corruptions, *groups]

  @property
  def choices(self) -> list[tuple[str, str]]:
    """(token, words) of the families, then of the corruptions."""
    return [(f"group:{g}", f"all {g}") for g in self.groups] + [
      (name, definitions.words(name)) for name in self.corruptions
    ]

  @property
  def level_choices(self) -> list[tuple[str, str]]:
    """(token, words) of the levels."""
    levels = sorted({c.level for c in self.conditions if c.level})
    return [(str(level), str(level)) for level in levels]

  def main_value(self, entry: Entry) -> str:
    """Return the ranking number as scripts sort it; empty without one."""
    number = entry.number(self.main.name) if self.main else None
    value = numbers_lib.value_of(number)
    return "" if value is None else f"{value:.9g}"

  @functools.cached_property
  def _keys(self) -> Mapping[tuple[str, str, int | None], None]:
    return dict.fromkeys(k for e in self.board.entries for k in e.numbers)


def cell(entry: Entry, condition: Condition, metric: str) -> Number | None:
  """Return the number of a cell."""
  return entry.cells.get(condition, {}).get(metric)


def examples(numbers: Iterable[Number | None]) -> str:
  """Return in words how many examples numbers are from; empty if unknown."""
  counts = {n.n for n in numbers if n is not None and n.n is not None}
  if not counts:
    return ""
  least, most = min(counts), max(counts)
  return f"n = {most:,}" if least == most else f"n from {least:,} to {most:,}"


def notes(numbers: Mapping[str, Number | None]) -> dict[str, list[str]]:
  """Return note -> the names of the numbers that have it."""
  out: dict[str, list[str]] = {}
  for name, number in numbers.items():
    if number is not None and number.note:
      out.setdefault(number.note, []).append(name)
  return out
