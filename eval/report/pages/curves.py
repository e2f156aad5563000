"""Severity curves: one small picture a corruption, all on one scale.

The line is the entry, the area around it its 95 % interval, the dashed line the
median of the board's entries. The numbers stand in the page's table of cells.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.compare.boards.board import Entry
from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.report.pages import paths
from robust_tfds.eval.report.pages import view as view_lib
from robust_tfds.eval.report.tables import numbers as numbers_lib

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

  def at(self, x: float, y: float) -> paths.Point:
    """A point's place."""
    first, last = self.xs[0], self.xs[-1]
    across = (x - first) / (last - first or 1)
    up = (y - self.bottom) / (self.top - self.bottom)
    up = min(max(up, -0.05), 1.05)
    return (_LEFT + across * (_RIGHT - _LEFT), _BOTTOM - up * (_BOTTOM - _TOP))

  def drawing(self, name: str) -> paths.Drawing:
    """Grid and labels."""
    heights = (self.bottom, (self.top + self.bottom) / 2, self.top)
    ends = self.xs[0], self.xs[-1]
    grid = "".join(paths.line(self.at(x, y) for x in ends) for y in heights)
    ys = [
      paths.word(f"{y:g}", _LEFT - 5, self.at(ends[0], y)[1] + 4, "e")
      for y in heights
    ]
    xs = [
      paths.word(f"{x:g}", self.at(x, 0)[0], _BOTTOM + 15, "c") for x in self.xs
    ]
    return paths.Drawing(name, [("g", grid)], [*ys, *xs])


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

  def picture(self, axes: Axes, shared: str) -> paths.Picture:
    """The picture under its name; `shared` is the axes' name on the page."""
    line = [axes.at(x, v) for x, (v, _, _) in self.points.items()]
    ends = [
      (axes.at(x, lo), axes.at(x, hi))
      for x, (_, lo, hi) in self.points.items()
      if lo is not None and hi is not None
    ]
    band = paths.band([hi for _, hi in ends], [lo for lo, _ in ends])
    median = paths.line(axes.at(x, v) for x, v in self.median.items())
    drawn = [("b", band, 0), ("m", median, 0), ("l", paths.line(line), 0)]
    return paths.Picture(self.name, self.label, "s", shared, drawn)


@dataclasses.dataclass(frozen=True)
class Group:
  """Pictures on the same axes.

  Attributes:
    title: above them; empty: none.
    drawings: axes that they show.
    pictures: one a curve.
  """

  title: str
  drawings: Sequence[paths.Drawing]
  pictures: Sequence[paths.Picture]


def by_severity(
  view: view_lib.View, entry: Entry, mark: str = ""
) -> list[Group]:
  """A curve of each corruption, in groups; empty without levels to compare.

  Args:
    mark: begins the names of the drawings, where a page shows several entries.
  """
  metric = view.shown(view.main_cell)
  curves = {
    name: _curve(view, entry, metric, name) for name in view.corruptions
  }
  drawn = {n: c for n, c in curves.items() if len(c.points) >= _FEWEST}
  if not drawn:
    return []
  levels = sorted({x for curve in drawn.values() for x in curve.points})
  axes = Axes(levels, _top(metric, drawn.values()))
  titles: dict[str, list[paths.Picture]] = {}
  for name, curve in drawn.items():
    row = view.board.family.row(name)
    title = row.group if row.set == "common" else row.set
    titles.setdefault(title, []).append(curve.picture(axes, f"{mark}grid"))
  shared = Group("", [axes.drawing(f"{mark}grid")], [])
  return [shared, *(Group(t.capitalize(), [], p) for t, p in titles.items())]


def _curve(
  view: view_lib.View, entry: Entry, metric: Metric, name: str
) -> Curve:
  places = [Condition(), *(c for c in view.conditions if c.name == name)]
  numbers = {
    float(c.level): view_lib.cell(entry, c, metric.name) for c in places
  }
  present = {x: n for x, n in numbers.items() if numbers_lib.has_value(n)}
  points = {x: _scaled(metric, n) for x, n in present.items()}
  median = {
    float(c.level): numbers_lib.scaled(metric, view.medians[c])
    for c in places
    if c in view.medians
  }
  title = definitions.words(name)
  return Curve(title, _label(title, metric, present), points, median)


def _scaled(
  metric: Metric, number: Number
) -> tuple[float, float | None, float | None]:
  value = numbers_lib.scaled(metric, numbers_lib.value_of(number) or 0.0)
  ends = numbers_lib.ends(number)
  if ends is None:
    return value, None, None
  lo, hi = (numbers_lib.scaled(metric, end) for end in ends)
  return value, lo, hi


def _label(name: str, metric: Metric, numbers: Mapping[float, Number]) -> str:
  ends = [numbers[x] for x in (min(numbers), max(numbers))] if numbers else []
  texts = " to ".join(numbers_lib.text(metric, n) for n in ends)
  last = f"{max(numbers):g}" if numbers else ""
  return f"{name}: {metric.heading} {texts} at {last}"


def _top(metric: Metric, curves: Iterable[Curve]) -> float:
  every = list(curves)
  most = max(
    [hi or v for c in every for v, _, hi in c.points.values()]
    + [v for c in every for v in c.median.values()]
  )
  top = paths.nice_top(most)
  return min(top, 100.0) if metric.percent and most <= 100 else top


def series(view: view_lib.View, entry: Entry, mark: str = "") -> list[Group]:
  """Curves of metrics of many parts: `acc_pmk/k=3` is over k; see `by_severity`."""
  families: dict[tuple[str, str], dict[float, tuple[Metric, Number]]] = {}
  for cells in entry.cells.values():
    for name, number in cells.items():
      match = _PART.fullmatch(name)
      if match and numbers_lib.has_value(number):
        family = families.setdefault((match["metric"], match["over"]), {})
        family[float(match["place"])] = (view.shown(name), number)
  drawn = [
    _series(name, over, dict(sorted(points.items())), mark)
    for (name, over), points in families.items()
    if len(points) > _FEWEST
  ]
  if not drawn:
    return []
  drawings, pictures = zip(*drawn)
  return [Group("", drawings, pictures)]


def _series(
  name: str, over: str, points: Mapping[float, tuple[Metric, Number]], mark: str
) -> tuple[paths.Drawing, paths.Picture]:
  metric = next(iter(points.values()))[0]
  heading = metric.heading.partition(",")[0]
  title = f"{heading} by {definitions.words(over)}"
  curve = Curve(
    title,
    _label(title, metric, {x: n for x, (_, n) in points.items()}),
    {x: _scaled(metric, n) for x, (_, n) in points.items()},
    {},
  )
  places = [min(points), (min(points) + max(points)) / 2, max(points)]
  axes = Axes(places, _top(metric, [curve]))
  symbol = f"{mark}over-" + re.sub(r"\W+", "-", f"{name}-{over}")
  return axes.drawing(symbol), curve.picture(axes, symbol)
