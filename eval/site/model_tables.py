"""The tables of an entry's page: the benchmark, corruptions, cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from robust_tfds.eval.compare.boards.board import Entry, Number
from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.site import number_text, page
from robust_tfds.eval.site import view as view_lib
from robust_tfds.eval.site.markup import Html, escape, join, tag, words


@dataclasses.dataclass(frozen=True)
class ModelTables:
  """Sections of a page, each empty where there is nothing to show.

  Attributes:
    view: of the entry's board.
    entry: whose numbers they are.
  """

  view: view_lib.View
  entry: Entry

  def headlines(self) -> Html:
    """Numbers of the whole benchmark, each with its interval, n and note."""
    numbers = [
      (m, self.entry.number(m.name))
      for m in (*self.view.headlines, *self.view.others)
    ]
    rows = [
      tag(
        "tr",
        tag("th", metric.heading, scope="row"),
        tag(
          "td",
          number_text.text(metric, number),
          number_text.unit(metric, number),
        ),
        tag("td", number_text.interval(metric, number) or number_text.MISSING),
        tag("td", _count(number)),
        tag("td", tag("bdi", number.note if number else ""), class_="t"),
      )
      for metric, number in numbers
      if number is not None
    ]
    if not rows:
      return Html()
    heads = ("Number", "Value", "95 % interval", "n")
    head = [*_heads(heads), tag("th", "Note", scope="col", class_="t")]
    table = _element(head, rows)
    box = page.scroll_box("Numbers of the benchmark", table)
    return page.section("The benchmark", box)

  def corruptions(self) -> Html:
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
      words(name): [
        (m, self.entry.numbers.get((m.name, name, lv))) for m, lv in columns
      ]
      for name in names
    }
    noun = self.view.board.facts.noun.capitalize()
    caption = "Below a number stands its 95 % interval."
    table = _table(noun, heads, rows, caption)
    return page.section(f"By {noun.lower()}", table)

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

  def cells(self) -> Html:
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
      words(c.config): [(m, cells[c].get(m.name)) for m in metrics]
      for c in conditions
    }
    heads = [number_text.heading(m) for m in metrics]
    caption = (
      f"Below a number of the first column, {metrics[0].heading}, stands its 95 %"
      " interval."
    )
    return page.section(
      "All cells", _table("Condition", heads, rows, caption, intervals=1)
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
    table = _element(_heads(("Number", "Value", "n")), rows)
    return page.section("All numbers", page.scroll_box("All numbers", table))


def _count(number: Number | None) -> str:
  if number is None or number.n is None:
    return number_text.MISSING
  return f"{number.n:,}"


def _heads(texts: Iterable[str]) -> list[Html]:
  return [tag("th", text, scope="col") for text in texts]


def _element(
  heads: Iterable[Html], lines: Iterable[Html], caption: str = ""
) -> Html:
  head, body = tag("thead", tag("tr", *heads)), tag("tbody", *lines)
  return tag("table", caption, head, body)


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
  count = view_lib.examples(numbers.values())
  above = page.caption(f"{caption} {count}." if count else caption)
  table = _element(_heads((corner, *heads)), lines, above)
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
