"""Names beside points, which cover neither a point nor another name."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from robust_tfds.charts import style

if TYPE_CHECKING:
  from matplotlib.text import Annotation
  from matplotlib.transforms import Bbox

_RADII_PT = (5, 12, 20, 30, 42)
_DIRECTIONS = 12
_LEADER_PT = 11  # from this distance on a thin line leads to the point
_MARKER_PT = 3.5
_MARGIN = 1.05  # a name's box is a little larger than its letters
# (x, y) offset in pt, horizontal and vertical alignment.
_Offset = tuple[float, float, str, str]


def place(
  ax: style.Axes,
  points: Sequence[tuple[float, float]],
  texts: Sequence[str],
  colours: Sequence[str],
  obstacles: Sequence[tuple[float, float]] = (),
  sizes: Sequence[float] = (),
) -> None:
  """Write a name beside each point, at the nearest free place.

  Args:
    ax: has everything else already, and its figure its foot.
    points: in the units of the axes.
    texts: one per point; an empty one is not written.
    colours: one per point.
    obstacles: further points that no name may cover.
    sizes: half the width of each point's marker, in pt; empty: small ones.
  """
  figure = ax.get_figure(root=True)
  assert figure is not None  # axes are of a figure
  figure.draw_without_rendering()
  pixels = figure.dpi / 72
  places = ax.transData.transform([*points, *obstacles])
  halves = [*sizes, *[_MARKER_PT] * (len(places) - len(sizes))]
  taken = [_square(p, half * pixels) for p, half in zip(places, halves)]
  for point, text, colour in zip(points, texts, colours, strict=True):
    if text:
      leader = {"arrowstyle": "-", "color": "#777777", "linewidth": 0.5}
      name = ax.annotate(
        text,
        point,
        xytext=(0, 0),
        textcoords="offset points",
        color=colour,
        fontsize=7,
        annotation_clip=False,
        arrowprops={**leader, "shrinkA": 0, "shrinkB": _MARKER_PT},
      )
      name.set_in_layout(False)  # else the axes would move
      taken.append(_settle(name, ax.get_window_extent(), taken))


def _settle(name: Annotation, frame: Bbox, taken: Sequence[Bbox]) -> Bbox:
  """Move a name to the first free place, else to the one that covers least."""
  costs = {}
  for offset in _offsets():
    box = _move(name, offset)
    outside = box.width * box.height - _overlap(box, [frame])
    costs[offset] = _overlap(box, taken) + 2 * outside
    if not costs[offset]:
      break
  return _move(name, min(costs, key=lambda offset: costs[offset]))


def _offsets() -> Iterable[_Offset]:
  """Yield the places to try, nearest first."""
  for radius, step in itertools.product(_RADII_PT, range(_DIRECTIONS)):
    angle = 2 * math.pi * step / _DIRECTIONS + math.pi / 6
    x, y = radius * math.cos(angle), radius * math.sin(angle)
    ha = "center" if abs(x) < 0.3 * radius else "left" if x > 0 else "right"
    va = "center" if abs(y) < 0.3 * radius else "bottom" if y > 0 else "top"
    yield x, y, ha, va


def _move(name: Annotation, offset: _Offset) -> Bbox:
  """Move a name and return its box in pixels."""
  from matplotlib.text import Text

  x, y, ha, va = offset
  name.set(position=(x, y), ha=ha, va=va)
  assert name.arrow_patch is not None
  name.arrow_patch.set_visible(math.hypot(x, y) >= _LEADER_PT)
  name.get_window_extent()  # moves the letters; its result includes the leader
  return Text.get_window_extent(name).expanded(_MARGIN, _MARGIN)


def _overlap(box: Bbox, boxes: Iterable[Bbox]) -> float:
  """Return the area that a box shares with others, in square pixels."""
  total = 0.0
  for other in boxes:
    width = min(box.x1, other.x1) - max(box.x0, other.x0)
    height = min(box.y1, other.y1) - max(box.y0, other.y0)
    total += max(width, 0.0) * max(height, 0.0)
  return total


def _square(centre: np.ndarray, half: float) -> Bbox:
  from matplotlib.transforms import Bbox

  return Bbox.from_extents(*(centre - half), *(centre + half))
