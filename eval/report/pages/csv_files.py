"""A board's CSV files: headlines, numbers by corruption, numbers by condition.

Rates are fractions with five significant digits, with their intervals. Text that a
spreadsheet would run is marked (`eval/cells/formulas.py`).
"""

from collections.abc import Iterable, Iterator, Sequence

from eval.cells.number import Number
from eval.compare.boards.board import Entry
from eval.report.pages import view as view_lib
from eval.report.pages.view import View
from eval.tables import csv_text
from eval.tables import numbers as numbers_lib

Line = Sequence[object]
_ENTRY = ("label", "run", "seed", "state")


def headlines(view: View) -> str:
  """Return a CSV with a line per entry, as on the board's page."""
  names = [m.name for m in (*view.headlines, *view.other_metrics)]
  head = ["rank", "best_rank", "worst_rank", *_ENTRY, "remark", "source"]
  lines = (
    [
      entry.rank,
      *(entry.rank_range or (None, None)),
      *_entry(entry),
      entry.remark,
      entry.source,
      *(x for name in names for x in _parts(entry.number(name))),
    ]
    for entry in view.board.entries
  )
  return csv_text.text(
    [*head, *_names(names, ("", "_lo", "_hi", "_n", "_note"))], lines
  )


def corruptions(view: View) -> str:
  """Return a CSV with a line per entry, corruption and difficulty."""
  names = list(
    dict.fromkeys(k[0] for e in view.board.entries for k in e.numbers if k[1])
  )

  def lines() -> Iterator[Line]:
    for entry in view.board.entries:
      places = dict.fromkeys(k[1:] for k in entry.numbers if k[1])
      for corruption, level in places:
        numbers = [entry.numbers.get((n, corruption, level)) for n in names]
        parts = [x for n in numbers for x in _parts(n)[:3]]
        yield [entry.label, corruption, level, *parts]

  head = ["label", view.board.facts.noun, view.board.family.level_noun]
  return csv_text.text([*head, *_names(names, ("", "_lo", "_hi"))], lines())


def cells(view: View) -> str:
  """Return a CSV of the main metric, a line per entry and condition."""
  name = view.main_cell

  def lines() -> Iterator[Line]:
    for entry in view.board.entries:
      for condition in view.conditions:
        number = view_lib.cell(entry, condition, name)
        if number:
          yield [entry.label, condition.config, *_parts(number)[:4]]

  ends = ("", "_lo", "_hi", "_n")
  return csv_text.text(["label", "condition", *_names([name], ends)], lines())


def _entry(entry: Entry) -> Line:
  return entry.label, entry.run, entry.seed, entry.state


def _names(metrics: Iterable[str], ends: Iterable[str]) -> list[str]:
  listed = list(ends)
  return [f"{metric}{end}" for metric in metrics for end in listed]


def _parts(number: Number | None) -> Line:
  """Return value, interval's ends, n and note."""
  if number is None:
    return None, None, None, None, None
  lo, hi = numbers_lib.ends(number) or (None, None)
  value = numbers_lib.value_of(number)
  return _rounded(value), _rounded(lo), _rounded(hi), number.n, number.note


def _rounded(value: float | None) -> float | None:
  return None if value is None else float(f"{value:.5g}")
