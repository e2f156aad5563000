"""The page of a board."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from robust_tfds.eval.compare.boards import board as board_lib
from robust_tfds.eval.compare.boards.board import Board, Entry, Number
from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.site import (
  fact_text,
  filters,
  heat_map,
  number_text,
  page,
)
from robust_tfds.eval.site import layout as layout_lib
from robust_tfds.eval.site import view as view_lib
from robust_tfds.eval.site.board_table import BoardTable
from robust_tfds.eval.site.markup import Html, join, name_of, tag, words

_KINDS = (
  ("", "headlines: ranks, states, intervals"),
  ("corruptions", "numbers of every corruption"),
  ("cells", "the main number of every condition"),
)


def of(view: view_lib.View, layout: layout_lib.Layout) -> page.Page:
  """The page of a board of a site."""
  path = layout.board(view.board)
  return page.Page(
    path,
    view.board.title,
    _Body(view, layout, BoardTable(view, layout, path)).parts(),
    heading=name_of(view.board.title),
    up=[("All boards", layout_lib.INDEX)],
    script=True,
  )


@dataclasses.dataclass(frozen=True)
class _Body:
  view: view_lib.View
  layout: layout_lib.Layout
  table: BoardTable

  def parts(self) -> list[Html]:
    board = self.view.board
    return [
      _summary(board),
      self._apart(),
      filters.of_board(self.view),
      page.section(
        "Models",
        page.scroll_box("Models and their numbers", self.table.table()),
        *(page.note(tag("bdi", text)) for text in board.notes),
        self.table.reference_list(),
        self._reasons(),
        id_="models",
      ),
      *self._by_corruption(),
      *self._by_condition(),
      page.section(
        "Data",
        fact_text.definition_list(board.data),
        fact_text.unknown(board.data),
        id_="data",
      ),
      self._files(),
      self._definitions(),
    ]

  def _apart(self) -> Html:
    """What keeps this board from the others of its data set."""
    board = self.view.board
    if not board.differs:
      return Html()
    others = [
      tag("a", name_of(b.title), href=self._relative(self.layout.board(b)))
      for b in self.layout.boards
      if b.dataset == board.dataset and b.key != board.key
    ]
    return tag(
      "div",
      tag(
        "p",
        "Other runs of this data set cannot be compared with these. Here:",
      ),
      fact_text.definition_list(
        {k: fact_text.short(k, v) for k, v in board.differs.items()}
      ),
      tag("p", "There: ", join(others, ", "), ".") if others else Html(),
      class_="apart",
    )

  def _reasons(self) -> Html:
    """Why numbers are missing, or what else is to be known of them."""
    numbers = {
      f"{metric.heading} of {entry.label}": entry.number(metric.name)
      for entry in self.view.board.entries
      for metric in self.view.headlines
    }
    items = [
      tag("li", tag("bdi", text), ": ", tag("bdi", ", ".join(names)))
      for text, names in view_lib.notes(numbers).items()
    ]
    if not items:
      return Html()
    title = tag("summary", "Notes on single numbers")
    return tag("details", title, tag("ul", *items, class_="note"))

  def _by_corruption(self) -> list[Html]:
    """A heat map of each number over a corruption's levels."""
    maps = [
      page.scroll_box(
        f"{metric.heading} of every corruption", self._detail_map(metric)
      )
      for metric in self.view.board_details
    ]
    noun = self.view.board.facts.noun
    title = f"By {noun}"
    return [page.section(title, *maps, id_="by-corruption")] if maps else []

  def _detail_map(self, metric: Metric) -> Html:
    names = [
      name
      for name in self.view.corruptions
      if any(e.number(metric.name, name) for e in self._entries)
    ]
    entries = [
      e
      for e in self._entries
      if any(e.number(metric.name, name) for name in names)
    ]
    family = self.view.board.family
    columns = [
      heat_map.Column(name, words(name), name, group=family.row(name).group)
      for name in names
    ]

    def number(entry: Entry, place: int) -> Number | None:
      return entry.number(metric.name, names[place])

    return heat_map.HeatMap(
      f"by-{metric.name.replace('/', '-')}",
      f"{number_text.heading(metric)}.",
      metric,
      columns,
      entries,
      number,
      self.table.head,
    ).table()

  def _by_condition(self) -> list[Html]:
    """The heat map of the cells' main number; none of a single condition."""
    metric = self.view.shown(self.view.main_cell)
    conditions = [
      c
      for c in self.view.conditions
      if any(view_lib.cell(e, c, metric.name) for e in self._entries)
    ]
    if len(conditions) < 2:
      return []
    family = self.view.board.family
    columns = [
      heat_map.Column(
        c.config,
        str(c.level or "–"),
        c.name,
        str(c.level),
        family.row(c.name).group if c.name else "",
      )
      for c in conditions
    ]

    def number(entry: Entry, place: int) -> Number | None:
      return view_lib.cell(entry, conditions[place], metric.name)

    table = heat_map.HeatMap(
      "cells",
      f"{number_text.heading(metric)}, by {family.level_noun}.",
      metric,
      columns,
      [e for e in self._entries if e.cells],
      number,
      self.table.head,
    ).table()
    box = page.scroll_box(f"{metric.heading} of every condition", table)
    return [page.section("By condition", box, id_="by-condition")]

  @property
  def _entries(self) -> Sequence[Entry]:
    return self.view.board.entries

  def _files(self) -> Html:
    items = [
      tag(
        "li",
        tag(
          "a",
          path.rpartition("/")[2],
          href=self._relative(path),
          download=True,
        ),
        f": {text}",
      )
      for kind, text in _KINDS
      for path in [self.layout.csv(self.view.board, kind)]
    ]
    note = page.note(
      "Rates are fractions in these files. The other metrics of every condition"
      " stand on the models' pages."
    )
    return page.section("Files", tag("ul", *items), note, id_="files")

  def _definitions(self) -> Html:
    metrics = [
      *self.view.headlines,
      *self.view.details,
      *self.view.cell_metrics,
    ]
    links = {}
    for metric in metrics:
      defined = definitions.find(self.view.board.task, metric.name)
      if defined:
        anchor = definitions.anchor(*defined)
        target = self._relative(layout_lib.DEFINITIONS)
        links[anchor] = tag(
          "a", defined[1].full_heading, href=f"{target}#{anchor}"
        )
    explanation = self.view.board.facts.explanation
    return page.section(
      "What the numbers are",
      tag("p", explanation) if explanation else Html(),
      _baseline(self.view.board),
      tag("p", "Definitions: ", join(links.values(), ", "), "."),
      id_="numbers",
    )

  def _relative(self, path: str) -> str:
    return layout_lib.relative(path, self.table.path)


def _summary(board: Board) -> Html:
  """How many of which state, in a sentence."""
  counts = {
    state: sum(e.state == state for e in board.entries)
    for state in dict.fromkeys(e.state for e in board.entries)
  }
  names = {board_lib.WHOLE: "whole", board_lib.PRINTED: "printed in papers"}
  listed = [f"{n} {names.get(state, state)}" for state, n in counts.items()]
  count = len(board.entries)
  noun = "entry" if count == 1 else "entries"
  text = f"{count} {noun}: {', '.join(listed) or 'none'}."
  return tag("p", text, class_="lead")


def _baseline(board: Board) -> Html:
  if not board.baseline:
    return Html()
  what = board.facts.normalised or "Normalised numbers"
  return tag("p", f"{what} are relative to ", tag("bdi", board.baseline), ".")
