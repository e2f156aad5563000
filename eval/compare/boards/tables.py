"""Boards as CSVs: `boards.csv`, `aside.csv`, and two for each board.

Numbers are as in a run's table: rates are fractions, written as the shortest
text that reads back as the same float.
"""

from collections.abc import Sequence
from typing import Any

from etils import epath

from eval.cells.number import Number
from eval.compare.boards.board import Board, Entry
from eval.compare.boards.exclusions import Exclusion
from eval.metrics.definitions import Metric
from eval.tables import csv_text
from eval.tables import numbers as numbers_lib
from robust_tfds.storage import disk

_SHOWN = 4  # headline numbers on the screen, beside each its parts
NUMBER = ("value", "lo", "hi", "jackknife_lo", "jackknife_hi", "n", "note")
_ENTRY = ("rank", "rank_low", "rank_high", "model", "run", "seed")
_ASIDE = ("run", "dataset", "model", "reason")
NUMBERS_HEADER = (
  "board",
  "model",
  "run",
  "seed",
  "metric",
  "corruption",
  "severity",
  *NUMBER,
)


def write(
  boards: Sequence[Board],
  folder: epath.Path,
  excluded: Sequence[Exclusion] = (),
) -> list[epath.Path]:
  """Write the CSVs.

  Returns:
    `boards.csv`, `aside.csv`, then for every board `<key>.csv`, a line per
    entry, and `<key>_numbers.csv`, a line per number.
  """
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
  files = {
    "boards.csv": csv_text.text(*_boards(boards)),
    "aside.csv": csv_text.text(
      _ASIDE, [[getattr(one, name) for name in _ASIDE] for one in excluded]
    ),
  }
  for board in boards:
    files[f"{board.key}.csv"] = csv_text.text(*board_table(board))
    files[f"{board.key}_numbers.csv"] = csv_text.text(
      NUMBERS_HEADER, numbers(board)
    )
  for name, content in files.items():
    disk.write_text(folder / name, content)
  return [folder / name for name in files]


def board_table(board: Board) -> tuple[list[str], list[list[Any]]]:
  """Return a line per entry: rank, headline numbers, state, facts."""
  metrics = [m.name for m in board.headlines]
  data = list(dict.fromkeys(n for e in board.runs for n in e.data))
  model_facts = list(
    dict.fromkeys(n for e in board.runs for n in e.model_facts)
  )
  header = [
    *_ENTRY,
    *(f"{m}{end}" for m in metrics for end in ("", "_lo", "_hi")),
    "state",
    "remark",
    "source",
    *(f"data_{n}" for n in data),
    *(f"model_{n}" for n in model_facts),
  ]
  rows = []
  for entry in board.entries:
    low, high = entry.rank_range or (None, None)
    row: list[Any] = [entry.rank, low, high, entry.label, entry.run, entry.seed]
    for metric in metrics:
      number = entry.number(metric) or Number(None)
      row += [number.value, number.lo, number.hi]
    row += [entry.state, entry.remark, entry.source]
    row += [entry.data.get(n) for n in data]
    rows.append(row + [entry.model_facts.get(n) for n in model_facts])
  return header, rows


def numbers(board: Board) -> list[list[Any]]:
  """Return a line per number: for every entry its headlines, then its cells."""
  return [row for entry in board.entries for row in _entry_rows(board, entry)]


def _entry_rows(board: Board, entry: Entry) -> list[list[Any]]:
  who = [board.key, entry.label, entry.run, entry.seed]
  out = [
    [*who, metric, corruption, level, *_ends(number)]
    for (metric, corruption, level), number in entry.numbers.items()
  ]
  for condition, metrics in entry.cells.items():
    out += [
      [*who, metric, condition.name, condition.level, *_ends(number)]
      for metric, number in metrics.items()
    ]
  return out


def _ends(number: Number) -> list[Any]:
  jackknife = number.jackknife or (None, None)
  return [
    *(number.value, number.lo, number.hi),
    *jackknife,
    *(number.n, number.note),
  ]


def _boards(boards: Sequence[Board]) -> tuple[Sequence[str], list[list[Any]]]:
  facts = dict.fromkeys(n for b in boards for n in b.data)
  names = [n for n in facts if n != "dataset"]
  header = [
    "board",
    "task",
    "dataset",
    "title",
    "baseline",
    "ranked_by",
    "entries",
    "ranked",
    *names,
  ]
  return header, [
    [
      board.key,
      board.task,
      board.dataset,
      board.title,
      board.baseline,
      board.ranked_by,
      len(board.entries),
      sum(e.rank is not None for e in board.entries),
      *(board.data.get(n) for n in names),
    ]
    for board in boards
  ]


def summary(board: Board) -> str:
  """Return a board for the screen: rank, range, label, seed, headline numbers."""
  whole = [*dict.fromkeys(m.part_of or m.name for m in board.headlines)][
    :_SHOWN
  ]
  metrics = [m for m in board.headlines if (m.part_of or m.name) in whole]
  facts = board.facts
  lines = [["rank", "open", "model", "seed", *(m.heading for m in metrics)]]
  for entry in board.entries:
    low, high = entry.rank_range or ("", "")
    lines.append(
      [
        str(entry.rank or "-"),
        f"{low}-{high}" if entry.rank_range else "",
        entry.label,
        "" if entry.seed is None else str(entry.seed),
        *(
          _short_text(entry.number(m.name), facts.metric(m.name))
          for m in metrics
        ),
        entry.remark,
      ]
    )
  widths = [max(map(len, column)) for column in zip(*(r[:4] for r in lines))]
  head = [f"{board.title} ({board.task})"]
  body = [
    "  ".join(c.ljust(w) for c, w in zip(row, [*widths, *[22] * len(row)]))
    for row in lines
  ]
  return "\n".join([*head, *(b.rstrip() for b in body), *board.notes, ""])


def _short_text(number: Number | None, metric: Metric) -> str:
  if number is None or number.value is None:
    return "-"

  def text(value: float) -> str:
    if metric.any_size:
      return numbers_lib.plain(metric, value)
    return f"{numbers_lib.scaled(metric, value):.1f}"

  ends = number.lo, number.hi
  return numbers_lib.interval_text(
    text, number.value, *ends, numbers_lib.BRACKETS
  )
