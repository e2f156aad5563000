"""Lines: numbers along an axis, e.g. an error against severity."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from robust_tfds import conditions
from robust_tfds.charts import frame as frame_lib
from robust_tfds.charts import style, svg

if TYPE_CHECKING:
  from matplotlib.artist import Artist

# Severities as ticks, 0 the clean cell.
SEVERITIES = (
  (0, *conditions.SEVERITIES),
  ("clean", *map(str, conditions.SEVERITIES)),
)
_MAX_IN_TITLE = 12  # points of a line


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of a panel.

  Attributes:
    label: in the legend, unless it begins with `_`.
    x: positions.
    values: one per position.
    index: chooses colour and marker.
    whiskers: whether intervals are whiskers; else they are a band.
    looks: matplotlib's options that replace those of the index.
    names: names of the points for the title; empty: their positions.
  """

  label: str
  x: Sequence[float]
  values: Sequence[style.Value]
  index: int
  whiskers: bool = False
  looks: Mapping[str, Any] = dataclasses.field(default_factory=dict)
  names: Sequence[float] = ()


@dataclasses.dataclass(frozen=True)
class Panel(frame_lib.Panel):
  """A panel of lines.

  Attributes:
    lines: the last ones on top.
    levels: dotted lines from 1 to the last severity: (height, index).
    names: below the axis: (position, name), a line for each word.
  """

  lines: Sequence[Line]
  levels: Sequence[tuple[float, int]] = ()
  names: Sequence[tuple[float, str]] = ()


def draw(panels: Sequence[Panel], frame: frame_lib.Frame) -> style.Figure:
  """Draw panels of lines."""
  return frame.draw(panels, _fill)


def add(ax: style.Axes, line: Line) -> list[Artist]:
  """Draw a line into a panel and return its parts."""
  looks = {
    "color": style.colour(line.index),
    "marker": style.marker(line.index),
    "markersize": 3,
    "linewidth": 1.2,
    "label": line.label,
    **line.looks,
  }
  y = [v.value for v in line.values]
  points = [
    (x, v) for x, v in zip(line.x, line.values) if not math.isnan(v.value)
  ]
  ends = style.whiskers(line.values)
  # A band would look narrow at points without an interval.
  incomplete = any(v.lo is None for _, v in points)
  if line.whiskers or (ends is not None and incomplete):
    bars = ax.errorbar(line.x, y, yerr=ends, elinewidth=0.6, **looks)
    svg.set_title(bars[0], _title(line))
    return [bars]  # type: ignore[list-item]
  (drawn,) = ax.plot(line.x, y, **looks)
  svg.set_title(drawn, _title(line))
  if ends is None:
    return [drawn]
  return [drawn, _add_band(ax, points, looks["color"])]


def _add_band(
  ax: style.Axes, points: Sequence[tuple[float, style.Value]], colour: str
) -> Artist:
  """Fill the area between the ends of the intervals."""
  from matplotlib.patches import Polygon

  lower = [(x, v.value if v.lo is None else v.lo) for x, v in points]
  upper = [(x, v.value if v.hi is None else v.hi) for x, v in points]
  outline = np.array([*lower, *reversed(upper)])
  band = Polygon(outline, facecolor=colour, alpha=0.15, linewidth=0)
  ax.update_datalim(outline)  # `add_patch` does so too, ten times slower
  return ax.add_artist(band)


def _fill(ax: style.Axes, panel: Panel) -> None:
  for line in panel.lines:
    add(ax, line)
  for height, index in panel.levels:
    last, colour = conditions.SEVERITIES[-1], style.colour(index)
    ax.hlines(height, 1, last, colors=colour, linestyles=":")
  place: Any = {"ha": "center", "va": "top", "fontsize": 7}
  for x, name in panel.names:
    transform = ax.get_xaxis_transform()
    ax.text(x, -0.03, name.replace(" ", "\n"), transform=transform, **place)


def _title(line: Line) -> str:
  """Return the text shown when the pointer is on the line: its numbers."""
  points = [
    f"{x:g}: {v.value:.4g}"
    + (f" ({v.lo:.4g}–{v.hi:.4g})" if None not in (v.lo, v.hi) else "")
    for x, v in zip(line.names or line.x, line.values)
  ]
  if len(points) > _MAX_IN_TITLE:
    points = [points[0], "…", points[-1]]
  return "\n".join([line.label.lstrip("_"), *points])
