"""Points: one number against another, with names, intervals and lines."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from eval.charts import names
from robust_tfds.charts import frame as frame_lib
from robust_tfds.charts import style

_STEPS = 24  # along a line, that names keep off
_SMALL_PT2 = 26.0  # of a marker
PLACED, BESIDE = "placed", "beside"


@dataclasses.dataclass(frozen=True)
class Point:
  """A point, in the units of the axes.

  Attributes:
    x: with its interval, where it has one.
    y: the same.
    index: of its colour and marker.
    label: in the legend, once each; empty: not in it.
    name: beside it; empty: none.
    hollow: whether the marker is open.
    area: of the marker, in square pt.
    joins: points of one word are joined by a thin line.
    looks: of matplotlib, where they are not those of the index.
  """

  x: style.Value
  y: style.Value
  index: int = 0
  label: str = ""
  name: str = ""
  hollow: bool = False
  area: float = _SMALL_PT2
  joins: str = ""
  looks: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  @property
  def place(self) -> tuple[float, float]:
    """Where it is."""
    return self.x.value, self.y.value


@dataclasses.dataclass(frozen=True)
class Line:
  """A line through the panel, with a band.

  Attributes:
    x: positions along it.
    y: heights.
    label: in the legend.
    looks: of matplotlib.
    band: its lower and upper ends; empty: none.
  """

  x: ArrayLike
  y: ArrayLike
  label: str
  looks: Mapping[str, Any]
  band: Sequence[ArrayLike] = ()


@dataclasses.dataclass(frozen=True)
class Panel(frame_lib.Panel):
  """A panel of points.

  Attributes:
    points: of it; those that come later lie above.
    lines: of it, below the points.
    arrows: from a place to another.
    margins: around the points, as shares of the axes.
    ends: of both axes, where they are not the frame's.
    naming: how names are written: `beside` the points, or `placed` where they
      hide no other.
  """

  points: Sequence[Point]
  lines: Sequence[Line] = ()
  arrows: Sequence[tuple[tuple[float, float], tuple[float, float]]] = ()
  margins: tuple[float, float] = (0.05, 0.05)
  ends: tuple[tuple[float, float], tuple[float, float]] | None = None
  naming: str = BESIDE


def draw(
  panels: Sequence[Panel], frame: frame_lib.Frame, foot: Sequence[str] = ()
) -> style.Figure:
  """A figure of panels of points.

  Args:
    panels: line by line.
    frame: around them.
    foot: lines that will stand below it; with them names are placed rightly.
  """
  fig = frame.draw(panels, _panel)
  if any(panel.naming == PLACED for panel in panels):
    style.foot(fig, foot)
  for ax, panel in zip(fig.axes, panels):
    (_place if panel.naming == PLACED else _beside)(ax, panel)
  return fig


def _panel(ax: style.Axes, panel: Panel) -> None:
  for line in panel.lines:
    ax.plot(line.x, line.y, label=line.label or None, **line.looks)
    if line.band:
      lo, hi = line.band
      colour = line.looks["color"]
      ax.fill_between(line.x, lo, hi, color=colour, alpha=0.2, linewidth=0)
  for places in _joined(panel.points):
    ax.plot(*zip(*places), color="#bbbbbb", linewidth=0.7, zorder=1)
  for start, end in panel.arrows:
    arrow = {"arrowstyle": "->", "color": style.colour(2), "linewidth": 1.3}
    ax.annotate("", end, start, arrowprops=arrow)
  for _, points in itertools.groupby(panel.points, key=_looks):
    _points(ax, list(points))
  ax.margins(*panel.margins)
  if panel.ends:
    ax.set(xlim=panel.ends[0], ylim=panel.ends[1])


def _looks(point: Point) -> tuple:
  """What points have in common that are drawn, and named, together."""
  looks = tuple(sorted(point.looks.items()))
  return point.index, point.label, point.hollow, point.area, looks


def _points(ax: style.Axes, points: Sequence[Point]) -> None:
  """Points of the same looks, with whiskers where they have intervals."""
  one, (x, y) = points[0], zip(*(p.place for p in points))
  colour = one.looks.get("color", style.colour(one.index))
  across = style.whiskers([p.x for p in points])
  along = style.whiskers([p.y for p in points])
  if across is not None or along is not None:
    looks = {"color": colour, "linestyle": "none", "elinewidth": 0.8}
    ax.errorbar(x, y, xerr=across, yerr=along, zorder=2, **looks)
  marker = one.looks.get("marker", style.marker(one.index))
  edge = {} if marker == "x" else {"edgecolor": colour}
  ax.scatter(
    x,
    y,
    s=one.area,
    marker=marker,
    facecolor="white" if one.hollow else colour,
    linewidth=one.looks.get("linewidth", 1.2),
    alpha=one.looks.get("alpha", 0.85),
    label=one.label or None,
    zorder=3,
    **edge,
  )


def _joined(points: Sequence[Point]) -> list[list[tuple[float, float]]]:
  """Places of the points that belong together."""
  of: dict[str, list[tuple[float, float]]] = {}
  for point in points:
    if point.joins:
      of.setdefault(point.joins, []).append(point.place)
  return list(of.values())


def _beside(ax: style.Axes, panel: Panel) -> None:
  for point in panel.points:
    if point.name:
      ax.annotate(
        point.name,
        point.place,
        xytext=(5, 4),
        textcoords="offset points",
        fontsize=7,
        color=_ink(point),
      )


def _place(ax: style.Axes, panel: Panel) -> None:
  """Names beside the points where they hide neither points nor lines."""
  named = [p for p in panel.points if p.name]
  lines = [*_joined(panel.points), *_whiskers(panel.points)]
  names.place(
    ax,
    [p.place for p in named],
    [p.name for p in named],
    [_ink(p) for p in named],
    [place for line in lines for place in _along(line)],
    sizes=[max(0.55 * math.sqrt(p.area), 3.5) for p in named],
  )


def _ink(point: Point) -> str:
  return point.looks.get("ink", style.colour(point.index))


def _whiskers(points: Sequence[Point]) -> Iterator[list[tuple[float, float]]]:
  for point in points:
    x, y = point.place
    if point.x.lo is not None and point.x.hi is not None:
      yield [(point.x.lo, y), (point.x.hi, y)]
    if point.y.lo is not None and point.y.hi is not None:
      yield [(x, point.y.lo), (x, point.y.hi)]


def _along(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
  """Points on the lines between places."""
  out = list(places)
  for (x0, y0), (x1, y1) in itertools.pairwise(places):
    for i in range(1, _STEPS):
      part = i / _STEPS
      out.append((x0 + part * (x1 - x0), y0 + part * (y1 - y0)))
  return out
