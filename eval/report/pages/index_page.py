"""The first page: all boards by task and data set, then all models."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from robust_tfds.eval.compare.boards.board import Entry
from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.site import (
  fact_text,
  filters,
  number_text,
  page,
)
from robust_tfds.eval.site import layout as layout_lib
from robust_tfds.eval.site.markup import Html, join, name_of, tag
from robust_tfds.eval.site.view import View


def of(views: Sequence[View], layout: layout_lib.Layout) -> page.Page:
  """The first page of a site."""
  return page.Page(
    layout_lib.INDEX,
    "Robustness boards",
    _Body(views, layout).parts(),
    script=True,
  )


@dataclasses.dataclass(frozen=True)
class _Body:
  views: Sequence[View]
  layout: layout_lib.Layout

  def parts(self) -> list[Html]:
    corruptions = dict.fromkeys(n for v in self.views for n in v.corruptions)
    tasks = [(task, definitions.title_of(task)) for task, _ in self._by_task()]
    return [
      self._lead(),
      filters.of_index(tasks, corruptions),
      *(self._task(task, views) for task, views in self._by_task()),
      self._models(),
    ]

  def _lead(self) -> Html:
    entries = [e for v in self.views for e in v.board.entries]
    ours = sum(not e.printed for e in entries)
    text = (
      f"{_many(len(self.views), 'board')}, {_many(ours, 'model')} of our runs,"
      f" {_many(len(entries) - ours, 'printed row')}. Only what was measured on the"
      " same data stands in one board."
    )
    return tag("p", text, class_="lead")

  def _by_task(self) -> Iterator[tuple[str, list[View]]]:
    for task in dict.fromkeys(v.board.task for v in self.views):
      yield task, [v for v in self.views if v.board.task == task]

  def _task(self, task: str, views: Sequence[View]) -> Html:
    datasets = dict.fromkeys(v.board.dataset for v in views)
    parts = [
      self._dataset(name, [v for v in views if v.board.dataset == name])
      for name in datasets
    ]
    return page.section(definitions.title_of(task), *parts)

  def _dataset(self, name: str, views: Sequence[View]) -> Html:
    facts = list(dict.fromkeys(f for v in views for f in v.board.differs))
    heads = [
      tag("th", words, scope="col", class_="t")
      for words in (
        "Board",
        *(fact_text.name(f).capitalize() for f in facts),
        "Entries",
        "First",
      )
    ]
    rows = [self._board(view, facts) for view in views]
    table = tag(
      "table",
      tag("thead", tag("tr", *heads)),
      tag("tbody", *rows),
    )
    apart = (
      page.note(
        f"{len(views)} boards: these runs are not of the same data and are not"
        " compared. What differs stands in the columns."
      )
      if len(views) > 1
      else Html()
    )
    return tag(
      "div",
      tag("h3", tag("bdi", name)),
      apart,
      page.scroll_box(f"Boards of {name}", table),
      class_="dataset",
    )

  def _board(self, view: View, facts: Sequence[str]) -> Html:
    board = view.board
    link = tag("a", name_of(board.title), href=self.layout.board(board))
    cells = [
      tag(
        "td",
        tag("bdi", fact_text.short(fact, board.differs.get(fact))),
        class_="t",
      )
      for fact in facts
    ]
    return tag(
      "tr",
      tag("th", link, scope="row"),
      *cells,
      tag("td", str(len(board.entries)), class_="t"),
      tag("td", _first(view), class_="t"),
      data_t=board.task,
      data_c=" ".join([*view.corruptions, *_groups(view)]),
      id=f"b-{self.layout.names[board.key]}",
    )

  def _models(self) -> Html:
    heads = [
      tag("th", words, scope="col", data_k=key, class_=class_)
      for key, words, class_ in (
        ("model", "Model", "t"),
        ("board", "Board", "t"),
        ("task", "Task", "t"),
        ("rank", "Rank", None),
        ("state", "State", "t"),
        ("number", "Main number", None),
      )
    ]
    rows = [self._model(v, e) for v in self.views for e in v.board.entries]
    table = tag(
      "table",
      page.caption("Ranks and main numbers are those of each board."),
      tag("thead", tag("tr", *heads)),
      tag("tbody", *rows),
      class_="sortable",
      id="all",
    )
    return page.section(
      "All models", page.scroll_box("All models", table), id_="models"
    )

  def _model(self, view: View, entry: Entry) -> Html:
    board = view.board
    link = tag("a", name_of(entry.label), href=self.layout.model(entry))
    rank = number_text.MISSING if entry.rank is None else str(entry.rank)
    main = view.main
    number = entry.number(main.name) if main else None
    words = (
      f"{main.heading} {number_text.with_unit(main, number)}"
      if main
      else number_text.MISSING
    )
    value = number_text.value_of(number)
    return tag(
      "tr",
      tag("th", link, scope="row"),
      tag("td", name_of(board.title), class_="t"),
      tag("td", definitions.title_of(board.task), class_="t"),
      tag("td", rank),
      tag("td", entry.state, class_="t"),
      tag("td", words, data_v="" if value is None else f"{value:.9g}"),
      data_b=f"b-{self.layout.names[board.key]}",
    )


def _first(view: View) -> Html:
  """The first of a board with its number."""
  first = next((e for e in view.board.entries if e.rank == 1), None)
  if first is None or view.main is None:
    return Html("nothing is ranked")
  words = number_text.with_unit(view.main, first.number(view.main.name))
  return join([name_of(first.label), f": {view.main.heading} {words}"])


def _groups(view: View) -> list[str]:
  family = view.board.family
  return sorted({f"group:{family.row(n).group}" for n in view.corruptions})


def _many(count: int, noun: str) -> str:
  return f"{count:,} {noun}" + ("" if count == 1 else "s")
