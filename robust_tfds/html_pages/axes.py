"""Small curves on common axes: a line, its band, a dashed line beside it."""

import dataclasses
from collections.abc import Mapping, Sequence

from robust_tfds.html_pages import paths

# Edges of the plot in px; the style sheet's class `s` is the picture's size.
_LEFT, _RIGHT, _TOP, _BOTTOM = 32.0, 168.0, 8.0, 98.0
WIDE = 328.0  # right edge of a picture of class `w`


@dataclasses.dataclass(frozen=True)
class Axes:
  """Places in a picture.

  Attributes:
    xs: the places that are labelled, ascending.
    top: value of the upper edge, in shown units; the lower is 0.
    bottom: value of the lower edge.
    right: edge of the plot, px.
  """

  xs: Sequence[float]
  top: float
  bottom: float = 0.0
  right: float = _RIGHT

  def at(self, x: float, y: float) -> paths.Point:
    """A point's place."""
    first, last = self.xs[0], self.xs[-1]
    across = (x - first) / (last - first or 1)
    up = (y - self.bottom) / (self.top - self.bottom)
    up = min(max(up, -0.05), 1.05)
    return (
      _LEFT + across * (self.right - _LEFT),
      _BOTTOM - up * (_BOTTOM - _TOP),
    )

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
    class_: of the style sheet, the picture's size: `s`, or `w` of wide axes.
  """

  name: str
  label: str
  points: Mapping[float, tuple[float, float | None, float | None]]
  median: Mapping[float, float]
  class_: str = "s"

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
    return paths.Picture(self.name, self.label, self.class_, shared, drawn)


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
