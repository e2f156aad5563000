"""Grids of pictures: galleries, strips of frames, pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from eval.cells.files.overlay import Overlay
from robust_tfds.charts import style


@dataclasses.dataclass(frozen=True)
class Picture:
  """A picture of a grid.

  Attributes:
    pixels: uint8 `[H, W, 3]`; None: an empty place.
    title: above it.
    caption: below it.
    alt: what it shows, where line, title and caption do not say it.
    boxes: to draw into it.
    view: the part of it that is seen (x1, y1, x2, y2), where not all.
  """

  pixels: np.ndarray | None
  title: str = ""
  caption: str = ""
  alt: str = ""
  boxes: Sequence[Overlay] = ()
  view: tuple[float, float, float, float] | None = None


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of a grid.

  Attributes:
    pictures: from left to right.
    name: left of it, across.
    head: above it, from its left.
    note: of its name, small.
  """

  pictures: Sequence[Picture]
  name: str = ""
  head: str = ""
  note: str = ""


def draw(
  lines: Sequence[Line], side: float, *, name_width: float = 1.2
) -> style.Figure:
  """A figure of lines of pictures.

  Args:
    lines: from top to bottom; they may differ in length.
    side: of a place, in inches.
    name_width: of the lines' names, in inches.
  """
  columns = max(len(line.pictures) for line in lines)
  captions = any(p.caption for line in lines for p in line.pictures)
  line_height = side + 0.25 * captions
  height = line_height * len(lines) + 0.4
  fig = style.figure(side * columns + name_width, height)
  # One axes, in inches: one for every picture takes three times as long.
  (ax,) = style.axes(fig, 1, 1).flat
  ax.set_axis_off()
  for row, line in enumerate(lines):
    _line(ax, line, row * line_height, side)
  ax.set_aspect("equal")
  ax.set_xlim(-name_width, side * columns)
  ax.set_ylim(height - 0.2, -0.2)
  return fig


def _line(ax: style.Axes, line: Line, top: float, side: float) -> None:
  """A line whose places begin at 0, below `top`; all in inches."""
  middle = side / 2
  # Words above and below are not laid out: long ones leave no place for pictures.
  free: dict[str, Any] = {"in_layout": False, "fontsize": 7, "ha": "center"}
  if line.head:
    ax.text(
      0, top, line.head, va="bottom", **free | {"fontsize": 9, "ha": "left"}
    )
  ax.text(-0.05, top + middle, line.name, ha="right", va="center", fontsize=8)
  for column, picture in enumerate(line.pictures):
    x, y = side * column + middle, top + middle
    if picture.pixels is not None:
      _put(ax, picture.pixels, x, y, 0.93 * side)
    ax.text(x, y - 0.47 * side, picture.title, va="bottom", **free)
    ax.text(x, y + 0.48 * side, picture.caption, va="top", **free)


def _put(
  ax: style.Axes, pixels: np.ndarray, x: float, y: float, side: float
) -> None:
  """A picture whose middle is a point and whose longer side is `side`."""
  height, width = side * np.array(pixels.shape[:2]) / max(pixels.shape[:2]) / 2
  extent = (x - width, x + width, y + height, y - height)
  ax.imshow(pixels, interpolation="none", extent=extent)


def show(axes: Sequence[style.Axes], line: Line) -> None:
  """Shows a line on some axes, and its name left of them."""
  for ax, picture in zip(axes, line.pictures):
    ax.set_visible(True)
    style.bare(ax)
    if picture.pixels is not None:
      ax.imshow(picture.pixels, interpolation="nearest")
    ax.set_title(picture.title, fontsize=7, pad=2)
    ax.set_xlabel(picture.caption, fontsize=7)
  if line.head:
    axes[0].set_title(line.head, loc="left", fontsize=9)
  axes[0].set_ylabel(line.name, rotation=0, ha="right", va="center", fontsize=8)


def frames(video: np.ndarray, count: int) -> list[int]:
  """Indices of some frames at equal steps, the first and the last among them."""
  return np.linspace(0, len(video) - 1, count).round().astype(int).tolist()
