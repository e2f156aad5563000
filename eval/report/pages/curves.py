"""Severity curves: one small picture a corruption, all on one scale.

The line is the entry, the area around it its 95 % interval, the dashed line the
median of the board's entries. The numbers stand in the page's table of cells.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence

from robust_tfds.conditions import Condition, Family
from robust_tfds.eval.compare.boards.board import Entry, Number
from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.site import number_text, svg
from robust_tfds.eval.site import view as view_lib
from robust_tfds.eval.site.markup import Html, join, tag, words

# Edges of the plot in px; the style sheet's class `s` is the picture's size.
_LEFT, _RIGHT, _TOP, _BOTTOM = 32.0, 168.0, 8.0, 98.0
_FEWEST = 2  # points of a curve
# `acc_pmk/k=3`, but not classes, whose numbers have no order.
_PART = re.compile(
  r"(?P<metric>[^=]+)/(?P<over>(?!class=)\w+)=(?P<place>[+-]?\d+(\.\d+)?)"
)


@dataclasses.dataclass(frozen=True)
class Axes:
  """Places in a picture.

  Attributes:
    xs: the places that are labelled, ascending.
    top: value of the upper edge, in shown units; the lower is 0.
    bottom: value of the lower edge.
  """

  xs: Sequence[float]
  top: float
  bottom: float = 0.0

  def at(self, x: float, y: float) -> svg.Point:
    """A point's place."""
    first, last = self.xs[0], self.xs[-1]
    across = (x - first) / (last - first or 1)
    up = (y - self.bottom) / (self.top - self.bottom)
    up = min(max(up, -0.05), 1.05)
    return (
      _LEFT + across * (_RIGHT - _LEFT),
      _BOTTOM - up * (_BOTTOM - _TOP),
    )

  def shared(self, name: str) -> Html:
    """Grid and labels, drawn once and used by every picture of the page."""
    heights = (self.bottom, (self.top + self.bottom) / 2, self.top)
    ends = self.xs[0], self.xs[-1]
    grid = "".join(svg.line(self.at(x, y) for x in ends) for y in heights)
    ys = [
      svg.word(f"{y:g}", _LEFT - 5, self.at(ends[0], y)[1] + 4, "e")
      for y in heights
    ]
    xs = [
      svg.word(f"{x:g}", self.at(x, 0)[0], _BOTTOM + 15, "c") for x in self.xs
    ]
    return svg.shared(name, svg.path("g", grid), *ys, *xs)


@dataclasses.dataclass(frozen=True)
class Curve:
  """A line with its band.

  Attributes:
    name: above it.
    label: what is seen, in words.
    points: x -> number, in shown units.
    median: x -> value of the dashed line.
  """

  name: str
  label: str
  points: Mapping[float, tuple[float, float | None, float | None]]
  median: Mapping[float, float]

  def figure(self, axes: Axes, shared: str) -> Html:
    """The picture under its name; `shared` is the axes' name on the page."""
    line = [axes.at(x, v) for x, (v, _, _) in self.points.items()]
    ends = [
      (axes.at(x, lo), axes.at(x, hi))
      for x, (_, lo, hi) in self.points.items()
      if lo is not None and hi is not None
    ]
    median = svg.line(axes.at(x, v) for x, v in self.median.items())
    drawn = svg.picture(
      "s",
      self.label,
      svg.use(shared),
      svg.path("b", svg.band([hi for _, hi in ends], [lo for lo, _ in ends])),
      svg.path("m", median),
      svg.path("l", svg.line(line)),
    )
    return tag("figure", tag("figcaption", self.name), drawn)


def by_severity(view: view_lib.View, entry: Entry) -> Html:
  """A curve of each corruption, in groups; empty without levels to compare."""
  metric = view.shown(view.main_cell)
  curves = {
    name: _curve(view, entry, metric, name) for name in view.corruptions
  }
  drawn = {n: c for n, c in curves.items() if len(c.points) >= _FEWEST}
  if not drawn:
    return Html()
  levels = sorted({x for curve in drawn.values() for x in curve.points})
  axes = Axes(levels, _top(metric, drawn.values()))
  return join(
    [svg.dot(), axes.shared("grid"), *_groups(view.board.family, drawn, axes)]
  )


def _groups(
  family: Family, drawn: Mapping[str, Curve], axes: Axes
) -> list[Html]:
  titles: dict[str, list[Html]] = {}
  for name, curve in drawn.items():
    row = family.row(name)
    title = row.group if row.set == "common" else row.set
    titles.setdefault(title, []).append(curve.figure(axes, "grid"))
  return [
    tag("div", tag("h3", title.capitalize()), *figures, class_="curves")
    for title, figures in titles.items()
  ]


def _curve(
  view: view_lib.View, entry: Entry, metric: Metric, name: str
) -> Curve:
  places = [Condition(), *(c for c in view.conditions if c.name == name)]
  numbers = {
    float(c.level): view_lib.cell(entry, c, metric.name) for c in places
  }
  present = {x: n for x, n in numbers.items() if number_text.has_value(n)}
  points = {x: _scaled(metric, n) for x, n in present.items()}
  median = {
    float(c.level): number_text.scaled(metric, view.medians[c])
    for c in places
    if c in view.medians
  }
  title = words(name)
  return Curve(title, _label(title, metric, present), points, median)


def _scaled(
  metric: Metric, number: Number
) -> tuple[float, float | None, float | None]:
  value = number_text.scaled(metric, number_text.value_of(number) or 0.0)
  ends = number_text.ends(number)
  if ends is None:
    return value, None, None
  lo, hi = (number_text.scaled(metric, end) for end in ends)
  return value, lo, hi


def _label(name: str, metric: Metric, numbers: Mapping[float, Number]) -> str:
  ends = [numbers[x] for x in (min(numbers), max(numbers))] if numbers else []
  texts = " to ".join(number_text.text(metric, n) for n in ends)
  last = f"{max(numbers):g}" if numbers else ""
  return f"{name}: {metric.heading} {texts} at {last}"


def _top(metric: Metric, curves: Iterable[Curve]) -> float:
  every = list(curves)
  most = max(
    [hi or v for c in every for v, _, hi in c.points.values()]
    + [v for c in every for v in c.median.values()]
  )
  top = svg.nice_top(most)
  return min(top, 100.0) if metric.percent and most <= 100 else top


def series(view: view_lib.View, entry: Entry) -> Html:
  """Curves of metrics of many parts: `acc_pmk/k=3` is over k."""
  families: dict[tuple[str, str], dict[float, tuple[Metric, Number]]] = {}
  for cells in entry.cells.values():
    for name, number in cells.items():
      match = _PART.fullmatch(name)
      if match and number_text.has_value(number):
        family = families.setdefault((match["metric"], match["over"]), {})
        family[float(match["place"])] = (view.shown(name), number)
  drawn = [
    _series(name, over, dict(sorted(points.items())))
    for (name, over), points in families.items()
    if len(points) > _FEWEST
  ]
  if not drawn:
    return Html()
  return join([svg.dot(), tag("div", *drawn, class_="curves")])


def _series(
  name: str, over: str, points: Mapping[float, tuple[Metric, Number]]
) -> Html:
  metric = next(iter(points.values()))[0]
  heading = metric.heading.partition(",")[0]
  title = f"{heading} by {words(over)}"
  curve = Curve(
    title,
    _label(title, metric, {x: n for x, (_, n) in points.items()}),
    {x: _scaled(metric, n) for x, (_, n) in points.items()},
    {},
  )
  places = [min(points), (min(points) + max(points)) / 2, max(points)]
  axes = Axes(places, _top(metric, [curve]))
  symbol = "over-" + re.sub(r"\W+", "-", f"{name}-{over}")
  return join([axes.shared(symbol), curve.figure(axes, symbol)])
