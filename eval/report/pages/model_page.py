"""The page of an entry: its numbers, charts, facts."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from eval.cells.number import Number
from eval.compare.boards import board as board_lib
from eval.compare.boards.board import Entry
from eval.metrics import definitions
from eval.metrics.definitions import Metric
from eval.report.pages import entry_charts, layout, template
from eval.report.pages import view as view_lib
from eval.tables import numbers
from robust_tfds.conditions import Condition

# Facts of models that would be confused with facts of data.
_OTHER_NAMES = {"source": "own_code"}
Cells = Sequence[tuple[Metric, Number | None]]


def html(
  view: view_lib.View, entry: Entry, severity: entry_charts.SeverityCharts
) -> str:
  """Return the page of an entry of a board."""
  board = view.board
  data = {k: v for k, v in entry.data.items() if k not in board.data}
  facts = {**board.data, **data}
  return template.page(
    "model.html",
    layout.model(entry),
    title=f"{entry.label}: {board.title}",
    up=[("All boards", template.INDEX), (board.title, layout.board(board))],
    view=view,
    board=board,
    entry=entry,
    task=definitions.title_of(board.task),
    whole=entry.state == board_lib.WHOLE,
    rank=_rank(entry, view),
    shown=tables(view, entry),
    charts={
      "severity": severity.chart(entry),
      "parts": entry_charts.part_charts(view, entry),
    },
    model_facts={
      _OTHER_NAMES.get(k, k): v for k, v in entry.model_facts.items()
    },
    data_facts={} if entry.printed else facts,
  )


def tables(view: view_lib.View, entry: Entry) -> dict[str, Any]:
  """Return the numbers of an entry that `entry.html` shows in tables."""
  return {
    "headlines": _headlines(view, entry),
    "corruptions": _corruptions(view, entry),
    "cells": _cells(view, entry),
    "only": _single_cell(view, entry),
  }


@dataclasses.dataclass(frozen=True)
class Table:
  """Numbers in rows, with their notes.

  Attributes:
    corner: heading of the rows' names.
    heads: headings of the columns.
    rows: name -> metric and number of each column.
    caption: above the table.
    intervals: how many columns show intervals.
  """

  corner: str
  heads: Sequence[str]
  rows: Mapping[str, Cells]
  caption: str
  intervals: int

  @property
  def count(self) -> str:
    """The number of examples, in words."""
    listed = (number for cells in self.rows.values() for _, number in cells)
    return view_lib.examples(listed)

  @property
  def notes(self) -> dict[str, list[str]]:
    """Note -> the numbers that have it."""
    return view_lib.notes(
      {
        f"{row}, {head}": number
        for row, cells in self.rows.items()
        for head, (_, number) in zip(self.heads, cells)
      }
    )


def _headlines(view: view_lib.View, entry: Entry) -> Cells:
  metrics = (*view.headlines, *view.other_metrics)
  pairs = ((m, entry.number(m.name)) for m in metrics)
  return [(m, number) for m, number in pairs if number is not None]


def _corruptions(view: view_lib.View, entry: Entry) -> Table | None:
  """Return the numbers over the levels of each corruption."""
  present = {(k[0], k[2]) for k in entry.numbers if k[1]}
  order = [m.name for m in view.details]
  columns = [
    (view.shown_metric(name), level)
    for name, level in sorted(
      present, key=lambda k: (order.index(k[0]), k[1] or 0)
    )
  ]
  rows = {
    definitions.words(name): [
      (m, entry.numbers.get((m.name, name, level))) for m, level in columns
    ]
    for name in view.corruptions
  }
  rows = {
    name: cells
    for name, cells in rows.items()
    if any(number for _, number in cells)
  }
  if not rows:
    return None
  noun = view.board.family.level_noun
  heads = [
    numbers.heading(m) + (f" ({noun} {level})" if level else "")
    for m, level in columns
  ]
  corner = view.board.facts.noun.capitalize()
  caption = "Below a number stands its 95 % interval."
  return Table(corner, heads, rows, caption, len(heads))


def _conditions(view: view_lib.View, entry: Entry) -> list[Condition]:
  return [c for c in view.conditions if c in entry.cells]


def _metrics(view: view_lib.View, entry: Entry) -> list[Metric]:
  cells = entry.cells.values()
  return [m for m in view.cell_metrics if any(m.name in c for c in cells)]


def _cells(view: view_lib.View, entry: Entry) -> Table | None:
  """Return a line per condition; None if there is only one."""
  listed, metrics = _conditions(view, entry), _metrics(view, entry)
  if len(listed) == 1 or not metrics:
    return None
  rows = {
    definitions.words(c.config): [
      (m, entry.cells[c].get(m.name)) for m in metrics
    ]
    for c in listed
  }
  caption = (
    f"Below a number of the first column, {metrics[0].heading}, stands its 95 %"
    " interval."
  )
  heads = [numbers.heading(m) for m in metrics]
  return Table("Condition", heads, rows, caption, 1)


def _single_cell(view: view_lib.View, entry: Entry) -> Cells:
  """Return the numbers of the only condition; [] if there are several."""
  listed = _conditions(view, entry)
  if len(listed) != 1:
    return []
  cell = entry.cells[listed[0]]
  return [(m, cell.get(m.name)) for m in _metrics(view, entry)]


def _rank(entry: Entry, view: view_lib.View) -> str:
  if entry.rank is None or view.main is None:
    return "Not ranked."
  ranked = sum(e.rank is not None for e in view.board.entries)
  text = f"Rank {entry.rank} of {ranked} by {view.main.heading}"
  if entry.rank_range:
    best, worst = entry.rank_range
    ranks = f"ranks {best} to {worst}" if best < worst else f"rank {best} alone"
    text += f"; the data leave {ranks} open"
  return f"{text}."
