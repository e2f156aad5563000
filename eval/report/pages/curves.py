"""Severity curves: one small picture a corruption, all on one scale.

The line is the entry, the area around it its 95 % interval, the dashed line the
median of the board's entries. The numbers stand in the page's table of cells.
"""

import re
from collections.abc import Iterable, Mapping

from eval.cells.number import Number
from eval.compare.boards.board import Entry
from eval.metrics import definitions
from eval.metrics.definitions import Metric
from eval.report.pages import view as view_lib
from eval.tables import numbers as numbers_lib
from robust_tfds.conditions import Condition
from robust_tfds.html_pages import axes as axes_lib
from robust_tfds.html_pages import paths

_FEWEST = 2  # points of a curve
# `acc_pmk/k=3`, but not classes, whose numbers have no order.
_PART = re.compile(
  r"(?P<metric>[^=]+)/(?P<over>(?!class=)\w+)=(?P<place>[+-]?\d+(\.\d+)?)"
)


def by_severity(
  view: view_lib.View, entry: Entry, mark: str = ""
) -> list[axes_lib.Group]:
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
  axes = axes_lib.Axes(levels, _top(metric, drawn.values()))
  titles: dict[str, list[paths.Picture]] = {}
  for name, curve in drawn.items():
    row = view.board.family.row(name)
    title = row.group if row.set == "common" else row.set
    titles.setdefault(title, []).append(curve.picture(axes, f"{mark}grid"))
  shared = axes_lib.Group("", [axes.drawing(f"{mark}grid")], [])
  return [
    shared,
    *(axes_lib.Group(t.capitalize(), [], p) for t, p in titles.items()),
  ]


def _curve(
  view: view_lib.View, entry: Entry, metric: Metric, name: str
) -> axes_lib.Curve:
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
  return axes_lib.Curve(title, _label(title, metric, present), points, median)


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


def _top(metric: Metric, curves: Iterable[axes_lib.Curve]) -> float:
  every = list(curves)
  most = max(
    [hi or v for c in every for v, _, hi in c.points.values()]
    + [v for c in every for v in c.median.values()]
  )
  top = paths.nice_top(most)
  return min(top, 100.0) if metric.percent and most <= 100 else top


def series(
  view: view_lib.View, entry: Entry, mark: str = ""
) -> list[axes_lib.Group]:
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
  return [axes_lib.Group("", drawings, pictures)]


def _series(
  name: str, over: str, points: Mapping[float, tuple[Metric, Number]], mark: str
) -> tuple[paths.Drawing, paths.Picture]:
  metric = next(iter(points.values()))[0]
  heading = metric.heading.partition(",")[0]
  title = f"{heading} by {definitions.words(over)}"
  curve = axes_lib.Curve(
    title,
    _label(title, metric, {x: n for x, (_, n) in points.items()}),
    {x: _scaled(metric, n) for x, (_, n) in points.items()},
    {},
  )
  places = [min(points), (min(points) + max(points)) / 2, max(points)]
  axes = axes_lib.Axes(places, _top(metric, [curve]))
  symbol = f"{mark}over-" + re.sub(r"\W+", "-", f"{name}-{over}")
  return axes.drawing(symbol), curve.picture(axes, symbol)
