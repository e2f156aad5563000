"""The page of a board: its table, its heat maps, its data."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

from eval.cells.number import Number
from eval.compare.boards import board as board_lib
from eval.compare.boards.board import Board, Entry
from eval.metrics import definitions
from eval.metrics.definitions import Metric
from eval.report.pages import heat_map, layout, template
from eval.report.pages import view as view_lib
from eval.tables import numbers
from robust_tfds.conditions import Condition

_FILES = (
  ("", "headlines: ranks, states, intervals"),
  ("numbers", "every number, a line each"),
)
# State -> the token that rows are filtered by.
TOKENS = {
  board_lib.WHOLE: "whole",
  board_lib.PARTIAL: "partial",
  board_lib.SEEN: "seen",
  board_lib.PRINTED: "printed",
}
_WIDTH, _EDGE = 132, 5  # size of whiskers in px, as in the style sheet


def html(view: view_lib.View, boards: Sequence[Board]) -> str:
  """Return the page of a board of a site."""
  board = view.board
  return template.page(
    "board.html",
    layout.board(board),
    script="board",
    title=board.title,
    up=[("All boards", template.INDEX)],
    board=board,
    view=view,
    table=Table(view),
    counts=_counts(board),
    others=[
      b for b in boards if b.dataset == board.dataset and b.key != board.key
    ],
    states=_states(board),
    notes=_notes(view),
    by_corruption=corruption_maps(view),
    by_condition=condition_maps(view),
    files=[(layout.csv(board, kind), words) for kind, words in _FILES],
    links=defined(view),
    layout=layout,
  )


@dataclasses.dataclass(frozen=True)
class Table:
  """The cells of a board's table that are not plain numbers."""

  view: view_lib.View

  @functools.cached_property
  def references(self) -> list[str]:
    """The sources and shared remarks, each once; rows cite them by number."""
    entries = self.view.board.entries
    sources = [e.source for e in entries if e.source]
    remarks = [e.remark for e in entries if e.remark]
    shared = [text for text in remarks if remarks.count(text) > 1]
    return list(dict.fromkeys((*sources, *shared)))

  def about(self, entry: Entry) -> list[tuple[str, str, int]]:
    """Return (word, text, number among the references or 0) of a row's citation."""
    return [
      (word, text, self.references.index(text) + 1 if shared else 0)
      for word, text in (("source", entry.source), ("remark", entry.remark))
      if text
      for shared in [text in self.references]
    ]

  @property
  def scale(self) -> str:
    """The ends of the scale of all whiskers, in words."""
    main = self.view.main
    assert main is not None
    return " to ".join(numbers.short(main, Number(end)) for end in self._range)

  def whisker(self, entry: Entry) -> list[int]:
    """Return the main number and its interval's ends as places in px."""
    main = self.view.main
    number = entry.number(main.name) if main else None
    value = numbers.value_of(number)
    if value is None:
      return []
    lo, hi = self._range
    step = (_WIDTH - 2 * _EDGE) / ((hi - lo) or 1)
    shown = (value, *(numbers.ends(number) or ()))
    return [round(_EDGE + (number - lo) * step) for number in shown]

  @staticmethod
  def tokens(entry: Entry) -> str:
    """Return the tokens by which a row is filtered."""
    ranked = " ranked" if entry.rank is not None else ""
    ours = "" if entry.printed else " ours"
    return f"{TOKENS.get(entry.state, 'whole')}{ranked}{ours}"

  @functools.cached_property
  def _range(self) -> tuple[float, float]:
    name = self.view.main.name if self.view.main else ""
    listed = [e.number(name) for e in self.view.board.entries]
    ends = [
      end
      for number in listed
      if numbers.has_value(number)
      for end in (number.value, *(numbers.ends(number) or ()))
      if end is not None
    ]
    return min(ends, default=0.0), max(ends, default=1.0)


def _counts(board: Board) -> str:
  """Return a sentence with the number of entries of each state."""
  counts = {
    state: sum(e.state == state for e in board.entries)
    for state in dict.fromkeys(e.state for e in board.entries)
  }
  names = {board_lib.WHOLE: "whole", board_lib.PRINTED: "printed in papers"}
  listed = [f"{n} {names.get(state, state)}" for state, n in counts.items()]
  count = len(board.entries)
  noun = "entry" if count == 1 else "entries"
  return f"{count} {noun}: {', '.join(listed) or 'none'}."


def _states(board: Board) -> list[tuple[str, str]]:
  """Return the (token, words) by which rows can be filtered."""
  present = {TOKENS.get(e.state, "whole") for e in board.entries}
  return [("ranked", "ranked"), ("ours", "our runs")] + [
    (token, state) for state, token in TOKENS.items() if token in present
  ]


def _notes(view: view_lib.View) -> dict[str, list[str]]:
  return view_lib.notes(
    {
      f"{metric.heading} of {entry.label}": entry.number(metric.name)
      for entry in view.board.entries
      for metric in view.headlines
    }
  )


def corruption_maps(view: view_lib.View) -> list[heat_map.HeatMap]:
  """Return a map for each number of single corruptions."""
  return [_corruption_map(view, metric) for metric in view.board_details]


def _corruption_map(view: view_lib.View, metric: Metric) -> heat_map.HeatMap:
  def number(entry: Entry, name: str) -> Number | None:
    return entry.number(metric.name, name)

  entries = view.board.entries
  names = [n for n in view.corruptions if any(number(e, n) for e in entries)]
  columns = [
    heat_map.Column(
      name,
      definitions.words(name),
      name,
      group=view.board.family.row(name).group,
    )
    for name in names
  ]
  return heat_map.HeatMap(
    f"by-{metric.name.replace('/', '-')}",
    f"{metric.heading} of every corruption",
    f"{numbers.heading(metric)}.",
    metric,
    columns,
    _rows(
      [e for e in entries if any(number(e, n) for n in names)], names, number
    ),
  )


def condition_maps(view: view_lib.View) -> list[heat_map.HeatMap]:
  """Return the map of the cells' main number, or [] for a single condition."""
  listed = _shown_conditions(view)
  if len(listed) < 2:
    return []
  metric, family = view.shown_metric(view.main_cell), view.board.family

  def number(entry: Entry, condition: Condition) -> Number | None:
    return view_lib.cell(entry, condition, metric.name)

  columns = [
    heat_map.Column(
      c.config,
      str(c.level or "–"),
      c.name,
      str(c.level),
      family.row(c.name).group if c.name else "",
    )
    for c in listed
  ]
  return [
    heat_map.HeatMap(
      "cells",
      f"{metric.heading} of every condition",
      f"{numbers.heading(metric)}, by {family.level_noun}.",
      metric,
      columns,
      _rows([e for e in view.board.entries if e.cells], listed, number),
    )
  ]


def _rows(
  entries: Sequence[Entry], places: Sequence, number: Callable
) -> list[tuple[Entry, list[Number | None]]]:
  return [(entry, [number(entry, p) for p in places]) for entry in entries]


def _shown_conditions(view: view_lib.View) -> list[Condition]:
  """Return the conditions under which any entry has the main number."""
  return [
    c
    for c in view.conditions
    if any(view_lib.cell(e, c, view.main_cell) for e in view.board.entries)
  ]


def defined(view: view_lib.View) -> dict[str, Metric]:
  """Return anchor on the page of definitions -> metric, for all metrics."""
  found = [
    definitions.find(view.board.task, metric.name)
    for metric in (*view.headlines, *view.details, *view.cell_metrics)
  ]
  return {definitions.anchor(*f): f[1] for f in found if f}
