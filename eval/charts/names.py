"""Names beside points, where they hide neither a point nor another name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from robust_tfds.charts import style

if TYPE_CHECKING:
  from matplotlib.text import Annotation
  from matplotlib.transforms import Bbox

_RADII_PT = (5, 12, 20, 30, 42)
_DIRECTIONS = 12
_LEADER_PT = 11  # from here on a line leads to the point
_STEPS = 8  # of the line
_LINE_PT = 1.0  # half its width, with air
_MARKER_PT = 3.5
_TINY = 1.05  # a name's box is a little larger than its letters


def place(
  ax: style.Axes,
  points: Sequence[tuple[float, float]],
  texts: Sequence[str],
  colours: Sequence[str],
  others: Sequence[tuple[float, float]] = (),
  fontsize: float = 7,
  sizes: Sequence[float] = (),
) -> None:
  """Writes a name beside each point; the nearest free place wins.

  Args:
    ax: with everything else of the figure drawn, its foot, too.
    points: in the units of the axes.
    texts: a name a point; an empty one is not written.
    others: further points that no name may hide.
    fontsize: in pt.
    sizes: half the width of each point's marker, in pt; empty: small ones.
  """
  figure = ax.get_figure(root=True)
  assert figure is not None  # axes are of a figure
  figure.draw_without_rendering()
  pixels = figure.dpi / 72
  every = (*points, *others)
  halves = (*sizes, *[_MARKER_PT] * (len(every) - len(sizes)))
  markers = [
    _box(ax.transData.transform(p), half * pixels)
    for p, half in zip(every, halves)
  ]
  taken: list[Bbox] = []
  for point, text, colour in zip(points, texts, colours, strict=True):
    if text:
      name = ax.annotate(
        text,
        point,
        xytext=(0, 0),
        textcoords="offset points",
        color=colour,
        fontsize=fontsize,
        annotation_clip=False,
      )
      name.set_in_layout(False)  # else the axes would move
      taken += _settle(ax, name, markers, taken)


def _settle(
  ax: style.Axes,
  name: Annotation,
  markers: Sequence[Bbox],
  taken: Sequence[Bbox],
) -> list[Bbox]:
  """Moves a name to the first free place, or to the one that hides least.

  Returns:
    The boxes that it takes, those of its line included.
  """
  best, best_cost = (0.0, 0.0, "center", "center"), math.inf
  frame = ax.get_window_extent()
  for offset in _offsets():
    box = _move(name, *offset)
    line = _line(ax, name, *offset[:2])
    cost = _hidden(box, [*markers, *taken]) + _outside(box, frame)
    cost += sum(_hidden(part, taken) for part in line)
    if cost < best_cost:
      best, best_cost = offset, cost
    if not cost:
      break
  box = _move(name, *best)
  x, y, *_ = best
  line = _line(ax, name, x, y)
  if line:
    leader = ax.annotate(
      "",
      name.xy,
      xytext=(x, y),
      textcoords="offset points",
      arrowprops={
        "arrowstyle": "-",
        "color": "#777777",
        "linewidth": 0.5,
        "shrinkA": 0,
        "shrinkB": _MARKER_PT,
      },
    )
    leader.set_in_layout(False)
  return [box, *line]


def _line(ax: style.Axes, name: Annotation, x: float, y: float) -> list[Bbox]:
  """Boxes along the line from a point to its name; none where it is near."""
  if math.hypot(x, y) < _LEADER_PT:
    return []
  figure = ax.get_figure(root=True)
  assert figure is not None  # axes are of a figure
  pixels = figure.dpi / 72
  start = ax.transData.transform(name.xy)
  step = np.array([x, y]) * pixels / _STEPS
  return [_box(start + i * step, _LINE_PT * pixels) for i in range(1, _STEPS)]


def _offsets() -> Iterator[tuple[float, float, str, str]]:
  """Offsets in pt with the alignment of the text, nearest first."""
  for radius in _RADII_PT:
    for step in range(_DIRECTIONS):
      angle = 2 * math.pi * step / _DIRECTIONS + math.pi / 6
      x, y = radius * math.cos(angle), radius * math.sin(angle)
      yield (
        x,
        y,
        _side(x, radius, "left", "right"),
        _side(y, radius, "bottom", "top"),
      )


def _side(value: float, radius: float, positive: str, negative: str) -> str:
  if abs(value) < 0.3 * radius:
    return "center"
  return positive if value > 0 else negative


def _move(name: Annotation, x: float, y: float, ha: str, va: str) -> Bbox:
  name.set(position=(x, y), ha=ha, va=va)
  return name.get_window_extent().expanded(_TINY, _TINY)


def _hidden(box: Bbox, others: Sequence[Bbox]) -> float:
  """Square pixels of others below a box."""
  out = 0.0
  for other in others:
    width = min(box.x1, other.x1) - max(box.x0, other.x0)
    height = min(box.y1, other.y1) - max(box.y0, other.y0)
    out += max(width, 0.0) * max(height, 0.0)
  return out


def _outside(box: Bbox, frame: Bbox) -> float:
  """Square pixels of a box outside the axes; they count double."""
  return 2 * (box.width * box.height - _hidden(box, [frame]))


def _box(centre: np.ndarray, half: float) -> Bbox:
  from matplotlib.transforms import Bbox

  x, y = centre
  return Bbox.from_extents(x - half, y - half, x + half, y + half)
