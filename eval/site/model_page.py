"""The page of an entry: facts, all of its numbers, curves, reliability."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence

from robust_tfds.conditions import Condition
from robust_tfds.eval.board import board as board_lib
from robust_tfds.eval.board.board import Entry
from robust_tfds.eval.board.board import Number
from robust_tfds.eval.results.facts import Metric
from robust_tfds.eval.site import curves
from robust_tfds.eval.site import definitions
from robust_tfds.eval.site import fact_text
from robust_tfds.eval.site import layout as layout_lib
from robust_tfds.eval.site import number_text
from robust_tfds.eval.site import page
from robust_tfds.eval.site import reliability
from robust_tfds.eval.site import view as view_lib
from robust_tfds.eval.site.markup import Html
from robust_tfds.eval.site.markup import escape
from robust_tfds.eval.site.markup import join
from robust_tfds.eval.site.markup import name_of
from robust_tfds.eval.site.markup import tag
from robust_tfds.eval.site.markup import words as words_of

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
    parts = [
      self._lead(),
      self._state(),
      self._headlines(),
      self._curves(),
      self._series(),
      self._reliability(),
      self._corruptions(),
      self._cells(),
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

  def _headlines(self) -> Html:
    numbers = {
      m.heading: (m, self.entry.number(m.name))
      for m in (*self.view.headlines, *self.view.others)
    }
    rows = [
      tag(
        "tr",
        tag("th", name, scope="row"),
        tag(
          "td",
          number_text.text(metric, number),
          number_text.unit(metric, number),
        ),
        tag("td", number_text.interval(metric, number) or number_text.MISSING),
        tag("td", _count(number)),
        tag("td", tag("bdi", number.note if number else ""), class_="t"),
      )
      for name, (metric, number) in numbers.items()
      if number is not None
    ]
    if not rows:
      return Html()
    heads = ("Number", "Value", "95 % interval", "n")
    head = [tag("th", h, scope="col") for h in heads]
    head.append(tag("th", "Note", scope="col", class_="t"))
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows))
    box = page.scroll_box("Numbers of the benchmark", table)
    return page.section("The benchmark", box)

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

  def _corruptions(self) -> Html:
    """Numbers over the levels of a corruption, a line each."""
    columns = self._detail_columns()
    names = [
      name
      for name in self.view.corruptions
      if any(self.entry.numbers.get((m.name, name, lv)) for m, lv in columns)
    ]
    if not names:
      return Html()
    heads = [
      number_text.heading(m) + (f" ({self._level} {lv})" if lv else "")
      for m, lv in columns
    ]
    rows = {
      words_of(name): [
        (m, self.entry.numbers.get((m.name, name, lv))) for m, lv in columns
      ]
      for name in names
    }
    noun = self.view.board.facts.noun.capitalize()
    words = "Below a number stands its 95 % interval."
    return page.section(f"By {noun.lower()}", _table(noun, heads, rows, words))

  @property
  def _level(self) -> str:
    return self.view.board.family.level_noun

  def _detail_columns(self) -> list[tuple[Metric, int | None]]:
    """(metric, level) of what is over a corruption, the levels ascending."""
    present = {(k[0], k[2]) for k in self.entry.numbers if k[1]}
    order = [m.name for m in self.view.details]
    return [
      (self.view.shown(name), level)
      for name, level in sorted(
        present,
        key=lambda k: (
          order.index(k[0]) if k[0] in order else len(order),
          k[0],
          k[1] or 0,
        ),
      )
    ]

  def _cells(self) -> Html:
    """All cells: a line a condition; of a single one a line a metric."""
    conditions = [c for c in self.view.conditions if c in self.entry.cells]
    metrics = [
      m
      for m in self.view.cell_metrics
      if any(m.name in self.entry.cells[c] for c in conditions)
    ]
    if not metrics:
      return Html()
    cells = self.entry.cells
    if len(conditions) == 1:
      return self._only(metrics, cells[conditions[0]])
    rows = {
      words_of(c.config): [(m, cells[c].get(m.name)) for m in metrics]
      for c in conditions
    }
    heads = [number_text.heading(m) for m in metrics]
    words = (
      f"Below a number of the first column, {metrics[0].heading}, stands its 95 %"
      " interval."
    )
    return page.section(
      "All cells", _table("Condition", heads, rows, words, intervals=1)
    )

  def _only(
    self, metrics: Sequence[Metric], numbers: Mapping[str, Number]
  ) -> Html:
    rows = [
      tag(
        "tr",
        tag("th", number_text.heading(m), scope="row"),
        number_text.cell(m, numbers.get(m.name)),
        tag("td", _count(numbers.get(m.name))),
      )
      for m in metrics
    ]
    head = [tag("th", h, scope="col") for h in ("Number", "Value", "n")]
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows))
    return page.section("All numbers", page.scroll_box("All numbers", table))

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


def _count(number: Number | None) -> str:
  if number is None or number.n is None:
    return number_text.MISSING
  return f"{number.n:,}"


def _table(
  corner: str,
  heads: Sequence[str],
  rows: Mapping[str, Sequence[tuple[Metric, Number | None]]],
  caption: str,
  intervals: int | None = None,
) -> Html:
  """Numbers, and the notes below all.

  Args:
    corner: over the rows' names.
    heads: over the columns.
    rows: name -> metric and number of each column.
    caption: of the table.
    intervals: how many columns show them; all where None.
  """
  numbers = {
    f"{row}, {head}": number
    for row, cells in rows.items()
    for head, (_, number) in zip(heads, cells)
  }
  lines = [_line(name, cells, intervals) for name, cells in rows.items()]
  head = [tag("th", h, scope="col") for h in (corner, *heads)]
  count = view_lib.examples(numbers.values())
  table = tag(
    "table",
    page.caption(f"{caption} {count}." if count else caption),
    tag("thead", tag("tr", *head)),
    tag("tbody", join(lines)),
  )
  items = [
    tag("li", tag("bdi", text), f": {', '.join(names)}")
    for text, names in view_lib.notes(numbers).items()
  ]
  below = tag("ul", *items, class_="note") if items else Html()
  return join([page.scroll_box(f"Numbers by {corner.lower()}", table), below])


def _line(
  name: str,
  cells: Sequence[tuple[Metric, Number | None]],
  intervals: int | None,
) -> Html:
  """A row without ends of its parts, which HTML does not need."""
  split = len(cells) if intervals is None else intervals
  shown = [number_text.cell(m, n) for m, n in cells[:split]]
  shown += [Html(f"<td>{number_text.text(m, n)}") for m, n in cells[split:]]
  return Html(f"<tr><th scope=row>{escape(name)}{''.join(shown)}")
