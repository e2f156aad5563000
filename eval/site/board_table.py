"""The table of a board: ranks, names, states, headline numbers with intervals."""

from __future__ import annotations

import dataclasses
import functools

from robust_tfds.eval.compare.boards import board as board_lib
from robust_tfds.eval.compare.boards.board import Entry, Number
from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.site import layout as layout_lib
from robust_tfds.eval.site import number_text, page, svg
from robust_tfds.eval.site.markup import Html, join, name_of, tag
from robust_tfds.eval.site.view import View

# In px, as the style sheet says.
_WIDTH, _HEIGHT, _EDGE = 132.0, 18.0, 5.0
# State -> the token that rows are filtered by.
TOKENS = {
  board_lib.WHOLE: "whole",
  board_lib.PARTIAL: "partial",
  board_lib.SEEN: "seen",
  board_lib.PRINTED: "printed",
}


@dataclasses.dataclass(frozen=True)
class BoardTable:
  """The table.

  Attributes:
    view: of the board.
    layout: of the site.
    path: of the page that it stands on.
  """

  view: View
  layout: layout_lib.Layout
  path: str

  def table(self) -> Html:
    """The table."""
    rows = [self._row(entry) for entry in self.view.board.entries]
    return tag(
      "table",
      page.caption(self._caption()),
      tag("thead", tag("tr", *self._headings())),
      tag("tbody", *rows),
      class_="board sortable",
      id="board",
    )

  def head(self, entry: Entry) -> Html:
    """The beginning of an entry's row in the page's other tables."""
    link = tag("a", name_of(entry.label), href=self._link(entry))
    return Html(f"<tr{_tokens(entry)}>" + tag("th", link, scope="row"))

  @functools.cached_property
  def references(self) -> list[str]:
    """Sources, and remarks that rows share, each once; rows name their numbers."""
    entries = self.view.board.entries
    sources = [e.source for e in entries if e.source]
    remarks = [e.remark for e in entries if e.remark]
    shared = [text for text in remarks if remarks.count(text) > 1]
    return list(dict.fromkeys((*sources, *shared)))

  def reference_list(self) -> Html:
    """What rows refer to by its number."""
    items = [
      tag("li", tag("bdi", text), id=f"reference-{number}")
      for number, text in enumerate(self.references, 1)
    ]
    return tag("ol", *items, class_="references") if items else Html()

  def _caption(self) -> Html:
    main = self.view.main
    if not self.view.board.ranked_by or main is None:
      return join(["Nothing is ranked. ", _below()])
    better = "higher" if main.higher_is_better else "lower"
    return join([f"By {main.heading}: {better} is better. ", _below()])

  def _headings(self) -> list[Html]:
    plain = [
      tag("th", "Rank", scope="col", data_k="rank"),
      tag("th", "Model", scope="col", data_k="model", class_="t"),
    ]
    metrics = [_metric_heading(metric) for metric in self.view.headlines]
    if self.view.main is not None:
      metrics.insert(1, self._interval_heading(self.view.main))
    ends = [
      tag("th", "Seed", scope="col", data_k="seed"),
      tag("th", "Run", scope="col", data_k="run", class_="t"),
    ]
    return [*plain, *metrics, *ends]

  def _interval_heading(self, metric: Metric) -> Html:
    """With the ends of the scale that the rows share."""
    ends = (number_text.short(metric, Number(end)) for end in self._range)
    scale = tag("small", " to ".join(ends))
    return tag("th", "Interval ", scale, scope="col", class_="t")

  def _row(self, entry: Entry) -> Html:
    main = self.view.main
    metrics = [
      number_text.sort_cell(m, entry.number(m.name))
      for m in self.view.headlines
    ]
    if main is not None:
      metrics.insert(1, tag("td", self._whisker(entry, main)))
    seed = number_text.MISSING if entry.seed is None else str(entry.seed)
    run = name_of(entry.run) if entry.run else number_text.MISSING
    return Html(
      f"<tr{_tokens(entry)}>"
      + join(
        [
          _rank(entry),
          tag("th", self._name(entry), scope="row"),
          *metrics,
          tag("td", seed),
          tag("td", run, class_="t"),
        ]
      )
      + "</tr>"
    )

  def _name(self, entry: Entry) -> Html:
    parts = [tag("a", name_of(entry.label), href=self._link(entry))]
    if entry.state != board_lib.WHOLE:
      parts.append(tag("span", entry.state, class_="state"))
    links = [
      self._reference(word, text, entry)
      for word, text in (("source", entry.source), ("remark", entry.remark))
      if text
    ]
    return join(
      [*parts, tag("small", join(links, ", "))] if links else parts, " "
    )

  def _reference(self, word: str, text: str, entry: Entry) -> Html:
    """A number where several rows share the text, else the text."""
    if text not in self.references:
      return tag("bdi", text)
    number = self.references.index(text) + 1
    return tag(
      "a",
      f"{word} {number}",
      href=f"#reference-{number}",
      aria_label=f"{word} {number} of {entry.label}",
    )

  def _link(self, entry: Entry) -> str:
    return layout_lib.relative(self.layout.model(entry), self.path)

  def _whisker(self, entry: Entry, metric: Metric) -> Html:
    """Value and interval on the scale that all rows share."""
    number = entry.number(metric.name)
    if not number_text.has_value(number) or number.value is None:
      return Html()
    middle = _HEIGHT / 2
    ends = number_text.ends(number) or ()
    line = svg.line((self._place(e), middle) for e in ends)
    dot = svg.line([(self._place(number.value), middle)])
    return Html(
      "<svg class=whisker aria-hidden=true>"
      f"{svg.path('l', line)}{svg.path('p', dot)}</svg>"
    )

  def _place(self, value: float) -> float:
    lo, hi = self._range
    return _EDGE + (value - lo) / ((hi - lo) or 1) * (_WIDTH - 2 * _EDGE)

  @functools.cached_property
  def _range(self) -> tuple[float, float]:
    name = self.view.main.name if self.view.main else ""
    numbers = [e.number(name) for e in self.view.board.entries]
    ends = [
      end
      for n in numbers
      if number_text.has_value(n)
      for end in (n.value, *(number_text.ends(n) or ()))
      if end is not None
    ]
    return min(ends, default=0.0), max(ends, default=1.0)


def _metric_heading(metric: Metric) -> Html:
  """Over a column of a metric; a script sorts the better ones first."""
  return tag(
    "th",
    number_text.heading(metric),
    scope="col",
    data_k=metric.name,
    data_d="desc" if metric.higher_is_better else None,
  )


def _below() -> str:
  return (
    "Below a number stands its 95 % interval, below a rank the ranks that the"
    " data leave open."
  )


def _rank(entry: Entry) -> Html:
  if entry.rank is None:
    return Html(f"<td>{number_text.MISSING}")
  best, worst = entry.rank_range or (entry.rank, entry.rank)
  ends = f"<i>{best}–{worst}</i>" if entry.rank_range else ""
  return Html(f"<td class=rank>{entry.rank}{ends}")


def _tokens(entry: Entry) -> str:
  ranked = " ranked" if entry.rank is not None else ""
  ours = "" if entry.printed else " ours"
  token = TOKENS.get(entry.state, "whole")
  return f' data-s="{token}{ranked}{ours}"'
