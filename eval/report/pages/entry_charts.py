"""Charts of an entry's page: over severity, and over parts like k.

The severity chart shows corruptions side by side, each from clean to the hardest level,
with the 95 % interval and, dashed, the median of the board's entries. The numbers are
in the page's tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from eval.cells.number import Number
from eval.compare.boards.board import Entry
from eval.metrics import definitions
from eval.metrics.definitions import Metric
from eval.report.pages import view as view_lib
from eval.tables import numbers as numbers_lib
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import Frame
from robust_tfds.charts.svg import Chart
from robust_tfds.conditions import Condition

_FEWEST = 2  # points of a line
_DASHED = {
  "color": "#555555",
  "linestyle": "--",
  "linewidth": 0.8,
  "marker": "",
}
# `acc_pmk/k=3`, but not classes, whose numbers have no order.
_PART = re.compile(
  r"(?P<metric>[^=]+)/(?P<over>(?!class=)\w+)=(?P<place>[+-]?\d+(\.\d+)?)"
)


class SeverityCharts:
  """The main number over severity, a line per corruption.

  All entries of a board share the axes, which are drawn once.
  """

  def __init__(self, view: view_lib.View):
    """Draw the axes and the medians of a board."""
    self._view = view
    self._metric = view.shown_metric(view.main_cell)
    step = 2 + max((c.level for c in view.conditions), default=0)
    entries = view.board.entries
    curves = {
      (e.key, n): values
      for e in entries
      for n in view.corruptions
      if len(values := self._values(e, n)) >= _FEWEST
    }
    names = [n for n in view.corruptions if any(n == k[1] for k in curves)]
    self._starts = {name: step * place for place, name in enumerate(names)}
    self._lines = {
      e.key: [
        self._line(n, curves[e.key, n]) for n in names if (e.key, n) in curves
      ]
      for e in entries
    }
    if names:
      self._figure = self._axes(step)

  def chart(self, entry: Entry) -> list[Chart]:
    """Return the chart of an entry, or [] without levels to compare."""
    drawn = self._lines[entry.key]
    if not drawn:
      return []
    (ax,) = self._figure.axes
    with style.context():
      artists = [artist for line in drawn for artist in lines.add(ax, line)]
    heading = self._metric.heading
    chart = Chart(
      heading, _label(heading, drawn), style.svg_text(self._figure, heading)
    )
    for artist in artists:
      artist.remove()
    return [chart]

  def _axes(self, step: int) -> style.Figure:
    """Return a figure with the axes, the corruptions' names and the medians."""
    names = [
      (start + step / 2 - 1, self._words(name))
      for name, start in self._starts.items()
    ]
    values = [
      v for drawn in self._lines.values() for line in drawn for v in line.values
    ]
    frame = Frame(
      *(0.5 + 0.6 * len(names), 2.2),
      x_ends=(-1, len(names) * step - 1),
      y_ends=_ends(values),
      x_ticks=([], None),
      margins=(0.4, 0.5, 0.1, 0.1),
    )
    medians = [self._median(step)] if self._view.medians else []
    return lines.draw([lines.Panel(medians, names=names)], frame)

  def _values(self, entry: Entry, name: str) -> dict[int, style.Value]:
    """Return level -> value of a corruption; level 0 is clean."""
    places = [
      Condition(),
      *(c for c in self._view.conditions if c.name == name),
    ]
    numbers = {
      c.level: view_lib.cell(entry, c, self._metric.name) for c in places
    }
    return {
      level: _value(self._metric, number)
      for level, number in numbers.items()
      if numbers_lib.has_value(number)
    }

  def _line(self, name: str, values: dict[int, style.Value]) -> lines.Line:
    x = [self._starts[name] + level for level in values]
    words = definitions.words(name)
    return lines.Line(words, x, [*values.values()], 0, names=[*values])

  def _words(self, name: str) -> str:
    """Return a corruption in words, with its set unless that is `common`."""
    row, words = self._view.board.family.row(name), definitions.words(name)
    return words if row.set == "common" else f"{words} ({row.set})"

  def _median(self, step: int) -> lines.Line:
    """Return the dashed line of medians, broken between corruptions."""
    medians = {
      (c.name, c.level): numbers_lib.scaled(self._metric, value)
      for c, value in self._view.medians.items()
    }
    points = {
      start + level: style.Value(
        medians.get((name if level else "", level), math.nan)
      )
      for name, start in self._starts.items()
      for level in range(step)
    }
    label = "_median of all models"
    return lines.Line(label, [*points], [*points.values()], 0, looks=_DASHED)


def part_charts(view: view_lib.View, entry: Entry) -> list[Chart]:
  """Return charts of metrics of many parts: `acc_pmk/k=3` is one over k."""
  families: dict[tuple[str, str], dict[float, Number]] = {}
  for cells in entry.cells.values():
    for name, number in cells.items():
      match = _PART.fullmatch(name)
      if match and numbers_lib.has_value(number):
        family = families.setdefault((match["metric"], match["over"]), {})
        family[float(match["place"])] = number
  charts = []
  for (name, over), points in families.items():
    if len(points) <= _FEWEST:
      continue
    places = sorted(points)
    metric = view.shown_metric(f"{name}/{over}={places[0]:g}")
    values = [_value(metric, points[x]) for x in places]
    heading = metric.heading.partition(",")[0]
    line = lines.Line(heading, places, values, 0)
    title = f"{heading} by {definitions.words(over)}"
    frame = Frame(
      *(3.4, 2.0),
      x=definitions.words(over),
      y_ends=_ends(values),
      margins=(0.5, 0.45, 0.1, 0.1),
    )
    svg = style.svg_text(lines.draw([lines.Panel([line])], frame), title)
    charts.append(Chart(title, _label(title, [line]), svg))
  return charts


def _value(metric: Metric, number: Number | None) -> style.Value:
  """Return a number in the unit that is shown, with its interval if known."""
  value = numbers_lib.scaled(metric, numbers_lib.value_of(number) or 0.0)
  ends = numbers_lib.ends(number) or ()
  return style.Value(value, *(numbers_lib.scaled(metric, end) for end in ends))


def _ends(values: Sequence[style.Value]) -> tuple[float, float]:
  """Return the ends of an axis: at most 0, and above the largest value."""
  least = min([0.0, *(v.value if v.lo is None else v.lo for v in values)])
  most = max([0.0, *(v.value if v.hi is None else v.hi for v in values)])
  return least, 1.05 * most or 1.0


def _label(title: str, drawn: Sequence[lines.Line]) -> str:
  """Return a description of a chart: where each line begins and ends."""
  texts = [
    f"{line.label} {line.values[0].value:.3g} to {line.values[-1].value:.3g}"
    for line in drawn
  ]
  return f"{title}: {'; '.join(texts)}"
