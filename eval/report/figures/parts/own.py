"""What figures take of runs: entries of boards under labels of their own."""

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
    label: its own among all models that are shown.
    board: that it stands on.
    entry: its numbers.
  """

  label: str
  board: Board
  entry: Entry

  @property
  def source(self) -> str:
    """Where its numbers come from, for the CSV."""
    return f"own run {self.entry.run}, {self.board.dataset}"

  @property
  def differences(self) -> Mapping[str, tuple[Any, Any]]:
    """Facts in which its data differ from the printed numbers': both values."""
    protocol = papers.protocol(self.board.dataset)
    if protocol is None:
      return {"dataset": ("", self.board.dataset)}
    return protocol.differences(self.facts)

  @property
  def facts(self) -> dict[str, Any]:
    """What a protocol is held against."""
    return {**self.entry.data, "baseline": self.board.baseline}

  def number(
    self, metric: str, corruption: str = "", level: int | None = None
  ) -> Number | None:
    """A number over cells that has a value; None where there is none."""
    number = self.entry.number(metric, corruption, level)
    return number if number and number.value is not None else None

  def value(
    self, metric: str, corruption: str = "", level: int | None = None
  ) -> float | None:
    """Its value alone."""
    number = self.number(metric, corruption, level)
    return number.value if number else None

  def metrics(self) -> list[str]:
    """Names of the numbers of its clean cell."""
    return list(self.entry.cells.get(Condition(), {}))

  def of_cell(
    self, metric: str, condition: Condition | None = None
  ) -> Number | None:
    """A number of one condition, by default of the clean one."""
    cell = self.entry.cells.get(condition or Condition(), {})
    number = cell.get(metric)
    return number if number and number.value is not None else None


def of(boards: Iterable[Board]) -> list[Own]:
  """The models of all boards' runs, each under a label of its own."""
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
  """Whether a board's runs are of the data of the printed numbers of a data set."""
  return board.dataset in datasets and not any(
    papers.other_data(board.dataset, model.facts) for model in of([board])
  )


def runs(models: Sequence[Own]) -> str:
  """Which runs they are of, and of which data."""
  return ", ".join(
    dict.fromkeys(f"{m.entry.run} ({m.board.dataset})" for m in models)
  )


def other_datasets(models: Sequence[Own], *datasets: str) -> list[str]:
  """The data sets of models that are not a figure's own, each once."""
  listed = dict.fromkeys(m.board.dataset for m in models)
  return [name for name in listed if name not in datasets]


def remark(models: Sequence[Own], *datasets: str) -> str:
  """A sentence about models of other data than a figure's; or nothing."""
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
  """What keeps a model from being compared with printed numbers."""
  listed = ", ".join(
    f"{name} {words_of(here)} (printed: {words_of(printed)})"
    for name, (printed, here) in model.differences.items()
  )
  return f"Own run {model.entry.run} is of another protocol: {listed}."


def baselines(models: Sequence[Own], printed: str = "") -> str:
  """What printed numbers and those of runs are divided by, in sentences.

  Args:
    printed: the data set that printed ones are of; empty: none are shown.
  """
  protocol = papers.protocol(printed)
  parts = {"Printed numbers": protocol.baseline} if protocol else {}
  parts |= {
    m.board.dataset: m.board.baseline for m in models if m.board.baseline
  }
  return " ".join(f"{d}: divided by {words}." for d, words in parts.items())


def without(models: Sequence[Own], drawn: Collection[str]) -> str:
  """A sentence about models that have none of a figure's numbers; or nothing."""
  left = [m.label for m in models if m.label not in drawn]
  if not left:
    return ""
  return f"None of these numbers are known of {', '.join(left)}."


def _unused(label: str, taken: Sequence[str]) -> str:
  """The label, numbered where it is taken."""
  number, out = 2, label
  while out in taken:
    out, number = f"{label} #{number}", number + 1
  return out
