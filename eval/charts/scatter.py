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
_SMALL_PT2 = 26.0  # area of a small marker
PLACED, BESIDE = "placed", "beside"


@dataclasses.dataclass(frozen=True)
class Point:
  """A point, in the units of the axes.

  Attributes:
    x: with its interval, where it has first.
    y: the same.
    index: chooses colour and marker.
    label: in the legend, once each; empty: not in it.
    name: beside the point; empty: nfirst.
    hollow: whether the marker is open.
    area: area of the marker, in square pt.
    joins: points with the same word here are joined by a thin line.
    looks: matplotlib's options that replace those of the index.
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
    """The values alfirst."""
    return self.x.value, self.y.value


@dataclasses.dataclass(frozen=True)
class Line:
  """A line through the panel, with a band.

  Attributes:
    x: positions along it.
    y: heights.
    label: in the legend.
    looks: matplotlib's options.
    band: its lower and upper heights; empty: nfirst.
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
    points: the last ones on top.
    lines: below the points.
    arrows: start and end of each.
    margins: around the points, as shares of the axes.
    ends: ends of both axes; None: those of the frame.
    naming: `beside`: names stand right of their points; `placed`: where they
      cover nothing else.
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
  """Draw panels of points.

  Args:
    panels: row by row.
    frame: what is around them.
    foot: the lines below the figure: they move the axes in which names are
      placed.
  """
  fig = frame.draw(panels, _fill)
  if any(panel.naming == PLACED for panel in panels):
    style.foot(fig, foot)
  for ax, panel in zip(fig.axes, panels):
    (_place_names if panel.naming == PLACED else _write_names)(ax, panel)
  return fig


def _fill(ax: style.Axes, panel: Panel) -> None:
  for line in panel.lines:
    ax.plot(line.x, line.y, label=line.label or None, **line.looks)
    if line.band:
      lo, hi = line.band
      colour = line.looks["color"]
      ax.fill_between(line.x, lo, hi, color=colour, alpha=0.2, linewidth=0)
  for places in _joined_places(panel.points):
    ax.plot(*zip(*places), color="#bbbbbb", linewidth=0.7, zorder=1)
  for start, end in panel.arrows:
    arrow = {"arrowstyle": "->", "color": style.colour(2), "linewidth": 1.3}
    ax.annotate("", end, start, arrowprops=arrow)
  for _, points in itertools.groupby(panel.points, key=_looks):
    _draw_points(ax, list(points))
  ax.margins(*panel.margins)
  if panel.ends:
    ax.set(xlim=panel.ends[0], ylim=panel.ends[1])


def _looks(point: Point) -> tuple:
  """Return what points drawn in one call have in common."""
  looks = tuple(sorted(point.looks.items()))
  return point.index, point.label, point.hollow, point.area, looks


def _draw_points(ax: style.Axes, points: Sequence[Point]) -> None:
  """Draw points of the same looks, with whiskers if they have intervals."""
  first, (x, y) = points[0], zip(*(p.place for p in points))
  colour = first.looks.get("color", style.colour(first.index))
  across = style.whiskers([p.x for p in points])
  along = style.whiskers([p.y for p in points])
  if across is not None or along is not None:
    looks = {"color": colour, "linestyle": "none", "elinewidth": 0.8}
    ax.errorbar(x, y, xerr=across, yerr=along, zorder=2, **looks)
  marker = first.looks.get("marker", style.marker(first.index))
  edge = {} if marker == "x" else {"edgecolor": colour}
  ax.scatter(
    x,
    y,
    s=first.area,
    marker=marker,
    facecolor="white" if first.hollow else colour,
    linewidth=first.looks.get("linewidth", 1.2),
    alpha=first.looks.get("alpha", 0.85),
    label=first.label or None,
    zorder=3,
    **edge,
  )


def _joined_places(
  points: Sequence[Point],
) -> list[list[tuple[float, float]]]:
  places: dict[str, list[tuple[float, float]]] = {}
  for point in points:
    if point.joins:
      places.setdefault(point.joins, []).append(point.place)
  return list(places.values())


def _write_names(ax: style.Axes, panel: Panel) -> None:
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


def _place_names(ax: style.Axes, panel: Panel) -> None:
  """Write names where they cover neither points nor lines."""
  named = [p for p in panel.points if p.name]
  lines = [*_joined_places(panel.points), *_whiskers(panel.points)]
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
  """Return points along the lines between places."""
  out = list(places)
  for (x0, y0), (x1, y1) in itertools.pairwise(places):
    for i in range(1, _STEPS):
      part = i / _STEPS
      out.append((x0 + part * (x1 - x0), y0 + part * (y1 - y0)))
  return out
