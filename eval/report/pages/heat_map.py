"""Heat maps: entries x conditions, numbers in words of a table on a ground.

The ground only repeats the number; ten steps from weak (good) to strong (bad) that
also differ in grey. `style.css` holds the steps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from robust_tfds.eval.compare.boards.board import Entry, Number
from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.site import number_text, page
from robust_tfds.eval.site.markup import Html, join, tag, words

STEPS = 10


@dataclasses.dataclass(frozen=True)
class Column:
  """A column of a heat map.

  Attributes:
    key: no other of the map has it.
    heading: over it.
    name: of its corruption; equal neighbours share a heading above.
    level: of its condition; empty where it is over all.
    group: the corruption's group.
  """

  key: str
  heading: str
  name: str = ""
  level: str = ""
  group: str = ""


@dataclasses.dataclass(frozen=True)
class HeatMap:
  """A table of grounds.

  Attributes:
    id: of the table, unique on its page.
    caption: what is seen.
    metric: of all numbers.
    columns: from left to right.
    entries: from top to bottom.
    number: (entry, column's place) -> number.
    head: entry -> the first cell of its row.
  """

  id: str
  caption: str
  metric: Metric
  columns: Sequence[Column]
  entries: Sequence[Entry]
  number: Callable[[Entry, int], Number | None]
  head: Callable[[Entry], Html]

  def table(self) -> Html:
    """The table."""
    rows = [
      [self.number(entry, i) for i in range(len(self.columns))]
      for entry in self.entries
    ]
    scale = _Scale.of(self.metric, rows)
    lines = [
      Html(self.head(entry) + scale.cells(row))
      for entry, row in zip(self.entries, rows)
    ]
    return tag(
      "table",
      page.caption(self.caption, " ", scale.legend),
      tag("thead", self._groups(), self._headings()),
      tag("tbody", join(lines)),
      class_="heat sortable",
      id=self.id,
    )

  def _groups(self) -> Html:
    """The row of names over several columns; empty where no two share one."""
    spans: list[list] = []
    for column in self.columns:
      if spans and spans[-1][0] == column.name:
        spans[-1][1] += 1
      else:
        spans.append([column.name, 1])
    if len(spans) == len(self.columns):
      return Html()
    cells = [
      tag(
        "th",
        words(name) or "clean",
        scope="colgroup",
        colspan=n,
        data_c=name or "clean",
      )
      for name, n in spans
    ]
    return tag("tr", tag("td"), *cells)

  def _headings(self) -> Html:
    cells = [
      tag(
        "th",
        column.heading,
        scope="col",
        data_k=column.key,
        data_c=column.name or "clean",
        data_l=column.level or None,
        data_g=column.group or None,
      )
      for column in self.columns
    ]
    return tag("tr", tag("th", "Model", scope="col", data_k="model"), *cells)


@dataclasses.dataclass(frozen=True)
class _Scale:
  """From numbers to steps.

  Attributes:
    metric: of the numbers.
    least: the least of all.
    most: the largest of all.
  """

  metric: Metric
  least: float
  most: float

  @classmethod
  def of(
    cls, metric: Metric, rows: Sequence[Sequence[Number | None]]
  ) -> _Scale:
    every = (number_text.value_of(n) for row in rows for n in row)
    values = [value for value in every if value is not None]
    return cls(metric, min(values, default=0.0), max(values, default=0.0))

  @property
  def legend(self) -> Html:
    """What weak and strong mean, in words and two samples."""
    ends = [self.least, self.most]
    if self.metric.higher_is_better:
      ends.reverse()
    good, bad = (number_text.short(self.metric, Number(v)) for v in ends)
    return tag(
      "span",
      tag("span", good, class_="h0"),
      " best to ",
      tag("span", bad, class_=f"h{STEPS - 1}"),
      " worst: the stronger the ground, the worse.",
      class_="legend",
    )

  def cells(self, row: Sequence[Number | None]) -> str:
    """Cells without their ends, which HTML does not need."""
    return "".join(map(self._cell, row))

  def _cell(self, number: Number | None) -> str:
    value = number_text.value_of(number)
    if value is None:
      return f"<td>{number_text.MISSING}"
    text = number_text.short(self.metric, number)
    return f"<td class=h{self.step(value)}>{text}"

  def step(self, value: float) -> int:
    """0, the best, to 9."""
    span = self.most - self.least
    part = (value - self.least) / span if span else 0.0
    if self.metric.higher_is_better:
      part = 1 - part if span else 0.0
    return min(int(part * STEPS), STEPS - 1)
