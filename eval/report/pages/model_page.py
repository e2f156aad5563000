"""The page of an entry: facts, all of its numbers, curves, reliability."""

from __future__ import annotations

import dataclasses

from robust_tfds.conditions import Condition
from robust_tfds.eval.compare.boards import board as board_lib
from robust_tfds.eval.compare.boards.board import Entry
from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.site import (
  curves,
  fact_text,
  number_text,
  page,
  reliability,
)
from robust_tfds.eval.site import layout as layout_lib
from robust_tfds.eval.site import view as view_lib
from robust_tfds.eval.site.markup import Html, name_of, tag
from robust_tfds.eval.site.model_tables import ModelTables

# Facts of models whose names facts of data have as well.
_OTHER_NAMES = {"source": "own_code"}


def of(
  view: view_lib.View, entry: Entry, layout: layout_lib.Layout
) -> page.Page:
  """The page of an entry of a board of a site."""
  board = view.board
  return page.Page(
    layout.model(entry),
    f"{entry.label}: {board.title}",
    _Body(view, entry).parts(),
    heading=name_of(entry.label),
    up=[
      ("All boards", layout_lib.INDEX),
      (board.title, layout.board(board)),
    ],
  )


@dataclasses.dataclass(frozen=True)
class _Body:
  view: view_lib.View
  entry: Entry

  def parts(self) -> list[Html]:
    tables = ModelTables(self.view, self.entry)
    parts = [
      self._lead(),
      self._state(),
      tables.headlines(),
      self._curves(),
      self._series(),
      self._reliability(),
      tables.corruptions(),
      tables.cells(),
      self._facts(),
    ]
    return [part for part in parts if part]

  def _lead(self) -> Html:
    entry, board = self.entry, self.view.board
    task = definitions.title_of(board.task)
    parts: list[object] = [f"{task}: ", tag("bdi", board.title)]
    if entry.run:
      parts += [", run ", name_of(entry.run)]
    if entry.seed is not None:
      parts.append(f", seed {entry.seed}")
    return tag("p", *parts, ".", _rank(entry, self.view), class_="lead")

  def _state(self) -> Html:
    entry = self.entry
    if entry.state == board_lib.WHOLE and not (entry.remark or entry.source):
      return Html()
    parts = [tag("b", entry.state.capitalize(), ".")]
    if entry.remark:
      parts += [Html(" "), tag("bdi", entry.remark)]
    if entry.source:
      parts += [Html(" Source: "), tag("bdi", entry.source), Html(".")]
    return tag("p", *parts, class_="apart")

  def _curves(self) -> Html:
    drawn = curves.by_severity(self.view, self.entry)
    if not drawn:
      return Html()
    metric = self.view.shown(self.view.main_cell)
    level = self.view.board.family.level_noun
    words = f"{number_text.heading(metric)}, over {level}"
    if view_lib.cell(self.entry, Condition(), metric.name):
      words += "; 0 is clean"
    words += ". The area is the 95 % interval."
    if self.view.medians:
      words += " Dashed: the median of the board."
    return page.section(f"{level.capitalize()} curves", page.note(words), drawn)

  def _series(self) -> Html:
    drawn = curves.series(self.view, self.entry)
    return (
      page.section("Curves", page.note("The area is the 95 % interval."), drawn)
      if drawn
      else Html()
    )

  def _reliability(self) -> Html:
    family = self.view.board.family
    drawn = reliability.diagrams(self.entry.reliability, family)
    if not drawn:
      return Html()
    words = (
      "Bars: accuracy in a bin of the top score, %. The thin lines: the gap to"
      " the bin's mean score. Dashed: calibrated. Below: how many examples fall into"
      f" the bin. All common {self.view.board.facts.noun}s of a"
      f" {family.level_noun} are pooled."
    )
    return page.section("Reliability", page.note(words), drawn)

  def _facts(self) -> Html:
    entry, shared = self.entry, self.view.board.data
    data = {k: v for k, v in entry.data.items() if k not in shared}
    parts = []
    if entry.by:
      by = {_OTHER_NAMES.get(k, k): v for k, v in entry.by.items()}
      parts += [
        tag("h3", "Model"),
        fact_text.definition_list(by),
        fact_text.unknown(by),
      ]
    facts = {**shared, **data}
    if facts and not entry.printed:
      parts += [
        tag("h3", "Data"),
        fact_text.definition_list(facts),
        fact_text.unknown(facts),
      ]
    return page.section("Facts", *parts) if parts else Html()


def _rank(entry: Entry, view: view_lib.View) -> str:
  if entry.rank is None or view.main is None:
    return " Not ranked."
  ranked = sum(e.rank is not None for e in view.board.entries)
  text = f" Rank {entry.rank} of {ranked} by {view.main.heading}"
  if entry.rank_range:
    best, worst = entry.rank_range
    ranks = f"ranks {best} to {worst}" if best < worst else f"rank {best} alone"
    text += f"; the data leave {ranks} open"
  return f"{text}."
