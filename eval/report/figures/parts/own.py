"""Models of runs, as figures show them."""

import collections
import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from eval import papers
from eval.cells.number import Number
from eval.compare.boards.board import Board, Entry, words_of
from robust_tfds.conditions import Condition

NOT_COMPARABLE = "Not comparable with the printed numbers"


@dataclasses.dataclass(frozen=True)
class Own:
  """A model of a run.

  Attributes:
    label: unique among all models of the figure.
    board: its board.
    entry: its numbers.
  """

  label: str
  board: Board
  entry: Entry

  @property
  def source(self) -> str:
    """The source of its numbers, for the CSV."""
    return f"own run {self.entry.run}, {self.board.dataset}"

  @property
  def differences(self) -> Mapping[str, tuple[Any, Any]]:
    """Fact -> (printed, here) where its data differ from the printed numbers'."""
    protocol = papers.protocol(self.board.dataset)
    if protocol is None:
      return {"dataset": ("", self.board.dataset)}
    return protocol.differences(self.facts)

  @property
  def facts(self) -> dict[str, Any]:
    """The facts that a paper's protocol is compared with."""
    return {**self.entry.data, "baseline": self.board.baseline}

  def number(
    self, metric: str, corruption: str = "", level: int | None = None
  ) -> Number | None:
    """Return a number over cells, or None without a value."""
    number = self.entry.number(metric, corruption, level)
    return number if number and number.value is not None else None

  def value(
    self, metric: str, corruption: str = "", level: int | None = None
  ) -> float | None:
    """Return the value of a number over cells."""
    number = self.number(metric, corruption, level)
    return number.value if number else None

  def metrics(self) -> list[str]:
    """Return the metrics of its clean cell."""
    return list(self.entry.cells.get(Condition(), {}))

  def cell_number(
    self, metric: str, condition: Condition | None = None
  ) -> Number | None:
    """Return a number of one condition, by default of the clean one."""
    cell = self.entry.cells.get(condition or Condition(), {})
    number = cell.get(metric)
    return number if number and number.value is not None else None


def from_boards(boards: Iterable[Board]) -> list[Own]:
  """Return the models of all boards' runs, with unique labels."""
  pairs = [(board, entry) for board in boards for entry in board.runs]
  times = collections.Counter(entry.label for _, entry in pairs)
  out: list[Own] = []
  for board, entry in pairs:
    label = entry.label
    if times[label] > 1:
      label = f"{label} ({entry.run})"
    out.append(Own(_unused(label, [o.label for o in out]), board, entry))
  return out


def is_beside(board: Board, datasets: Collection[str]) -> bool:
  """Return whether a board's runs are of the same data as printed numbers."""
  return board.dataset in datasets and not any(
    papers.other_data(board.dataset, model.facts)
    for model in from_boards([board])
  )


def runs(models: Sequence[Own]) -> str:
  """Return the names of the models' runs and data sets."""
  return ", ".join(
    dict.fromkeys(f"{m.entry.run} ({m.board.dataset})" for m in models)
  )


def other_datasets(models: Sequence[Own], *datasets: str) -> list[str]:
  """Return the data sets of models that are not among those of a figure."""
  listed = dict.fromkeys(m.board.dataset for m in models)
  return [name for name in listed if name not in datasets]


def comparability(models: Sequence[Own], *datasets: str) -> str:
  """Return sentences on models that the printed numbers do not compare with."""
  parts = []
  other = other_datasets(models, *datasets)
  if other:
    parts.append(
      f"{NOT_COMPARABLE}: own runs over {', '.join(other)}, which are of other"
      f" data than {' and '.join(datasets)}."
    )
  same = [m for m in models if m.board.dataset in datasets and m.differences]
  parts += dict.fromkeys(map(_protocol, same))
  return " ".join(parts)


def _protocol(model: Own) -> str:
  """Return a sentence on how a model's protocol differs from the paper's."""
  listed = ", ".join(
    f"{name} {words_of(here)} (printed: {words_of(printed)})"
    for name, (printed, here) in model.differences.items()
  )
  return f"Own run {model.entry.run} is of another protocol: {listed}."


def baselines(models: Sequence[Own], printed: str = "") -> str:
  """Return sentences on the baselines of printed numbers and of runs.

  Args:
    printed: data set of the printed numbers; empty: none are shown.
  """
  protocol = papers.protocol(printed)
  parts = {"Printed numbers": protocol.baseline} if protocol else {}
  parts |= {
    m.board.dataset: m.board.baseline for m in models if m.board.baseline
  }
  return " ".join(f"{d}: divided by {words}." for d, words in parts.items())


def missing_numbers(models: Sequence[Own], drawn: Collection[str]) -> str:
  """Return a sentence on models with none of a figure's numbers, or ''."""
  labels = [m.label for m in models if m.label not in drawn]
  if not labels:
    return ""
  return f"None of these numbers are known of {', '.join(labels)}."


def _unused(label: str, taken: Sequence[str]) -> str:
  """Return the label, with a number if it is taken."""
  number, out = 2, label
  while out in taken:
    out, number = f"{label} #{number}", number + 1
  return out
