"""Lines: numbers along an axis, e.g. an error against severity."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from robust_tfds import conditions
from robust_tfds.charts import frame as frame_lib
from robust_tfds.charts import style, svg

# Severities as ticks, 0 the clean cell.
SEVERITIES = (
  (0, *conditions.SEVERITIES),
  ("clean", *map(str, conditions.SEVERITIES)),
)


_MOST_IN_TITLE = 12  # points of a line


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of a panel.

  Attributes:
    label: in the legend; one that begins with `_` is not in it.
    x: positions.
    values: as many, with their intervals where they have them.
    index: of its colour and marker.
    whiskers: whether intervals are whiskers; else they are a band.
    looks: of matplotlib, where they are not those of the index.
    names: of the points, where they are not their positions.
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
    lines: of it.
    levels: lines across from 1 to the last tick: (height, index).
    names: words below the axis: (position, words), a line each word.
  """

  lines: Sequence[Line]
  levels: Sequence[tuple[float, int]] = ()
  names: Sequence[tuple[float, str]] = ()


def draw(panels: Sequence[Panel], frame: frame_lib.Frame) -> style.Figure:
  """A figure of panels of lines."""
  return frame.draw(panels, _panel)


def _panel(ax: style.Axes, panel: Panel) -> None:
  for line in panel.lines:
    _line(ax, line)
  for height, index in panel.levels:
    last, colour = conditions.SEVERITIES[-1], style.colour(index)
    ax.hlines(height, 1, last, colors=colour, linestyles=":")
  place: Any = {"ha": "center", "va": "top", "fontsize": 7}
  for x, words in panel.names:
    transform = ax.get_xaxis_transform()
    ax.text(x, -0.03, words.replace(" ", "\n"), transform=transform, **place)


def _line(ax: style.Axes, line: Line) -> None:
  looks = {
    "color": style.colour(line.index),
    "marker": style.marker(line.index),
    "markersize": 3,
    "linewidth": 1.2,
    "label": line.label,
    **line.looks,
  }
  y = [v.value for v in line.values]
  ends = style.whiskers(line.values)
  # A band between points of which some have no interval would look narrow there.
  without = [v for v in line.values if v.lo is None and v.value == v.value]
  if line.whiskers or (ends is not None and without):
    drawn, *_ = ax.errorbar(line.x, y, yerr=ends, elinewidth=0.6, **looks)
  else:
    (drawn,) = ax.plot(line.x, y, **looks)
    if ends is not None:
      looks = {"color": looks["color"], "alpha": 0.15, "linewidth": 0}
      ax.fill_between(line.x, y - ends[0], y + ends[1], **looks)
  svg.set_title(drawn, _title(line))


def _title(line: Line) -> str:
  """Return what stands over a line under the pointer: its numbers."""
  points = [
    f"{x:g}: {v.value:.4g}"
    + (f" ({v.lo:.4g}–{v.hi:.4g})" if None not in (v.lo, v.hi) else "")
    for x, v in zip(line.names or line.x, line.values)
  ]
  if len(points) > _MOST_IN_TITLE:
    points = [points[0], "…", points[-1]]
  return "\n".join([line.label.lstrip("_"), *points])
