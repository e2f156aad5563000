"""Grids of pictures: galleries, strips of frames, pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from eval.cells.files.overlay import Overlay
from eval.charts import box_labels
from robust_tfds.charts import style

# Kind of a box -> its colour and dashes.
BOX_LOOKS: dict[str, tuple[str, Any]] = {
  "hit": ("#00614a", "-"),
  "missed": ("#8a4b00", (0, (5, 2))),
  "wrong": ("#b3005e", (0, (1, 1.2))),
}
_LABEL_PT = 8.0  # letters of the labels of boxes


@dataclasses.dataclass(frozen=True)
class Picture:
  """A picture of a grid.

  Attributes:
    pixels: uint8 `[H, W, 3]`; None: an empty place.
    title: above it.
    caption: below it.
    alt: what it shows, if its line, title and caption do not say so.
    boxes: drawn into it.
    view: the visible part (x1, y1, x2, y2); None: all of it.
  """

  pixels: np.ndarray | None
  title: str = ""
  caption: str = ""
  alt: str = ""
  boxes: Sequence[Overlay] = ()
  view: box_labels.Box | None = None


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of a grid.

  Attributes:
    pictures: from left to right.
    name: left of them.
    head: above them, from the left.
    note: small, beside the name.
  """

  pictures: Sequence[Picture]
  name: str = ""
  head: str = ""
  note: str = ""


def draw(
  lines: Sequence[Line], side: float, *, name_width: float = 1.2
) -> style.Figure:
  """Draw lines of pictures.

  Args:
    lines: from top to bottom; they may differ in length.
    side: side of a place, in inches.
    name_width: width of the lines' names, in inches.
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
    _draw_line(ax, line, row * line_height, side)
  ax.set_aspect("equal")
  ax.set_xlim(-name_width, side * columns)
  ax.set_ylim(height - 0.2, -0.2)
  return fig


def frames(video: np.ndarray, count: int) -> list[int]:
  """Return the indices of `count` frames at equal steps, with first and last."""
  return np.linspace(0, len(video) - 1, count).round().astype(int).tolist()


def _draw_line(ax: style.Axes, line: Line, top: float, side: float) -> None:
  """Draw a line whose places begin at x = 0, below `top`; all in inches."""
  middle = side / 2
  # Words above and below are not laid out: long ones leave no place for pictures.
  free: dict[str, Any] = {"in_layout": False, "fontsize": 7, "ha": "center"}
  if line.head:
    head = free | {"fontsize": 9, "ha": "left"}
    ax.text(0, top, line.head, va="bottom", **head)
  ax.text(-0.05, top + middle, line.name, ha="right", va="center", fontsize=8)
  note = free | {"fontsize": 6, "ha": "right"}
  ax.text(
    -0.05, top + 0.62 * side, line.note.replace(", ", "\n"), va="top", **note
  )
  for column, picture in enumerate(line.pictures):
    x, y = side * column + middle, top + middle
    if picture.pixels is not None:
      _draw_picture(ax, picture, x, y, 0.93 * side)
    ax.text(x, y - 0.47 * side, picture.title, va="bottom", **free)
    ax.text(x, y + 0.48 * side, picture.caption, va="top", **free)


def _draw_picture(
  ax: style.Axes, picture: Picture, x: float, y: float, side: float
) -> None:
  """Draw a picture around a point; the longer side of its view is `side`."""
  from matplotlib.transforms import Affine2D, Bbox, TransformedBbox

  assert picture.pixels is not None
  height, width = picture.pixels.shape[:2]
  x1, y1, x2, y2 = picture.view or (0, 0, width, height)
  scale = side / max(x2 - x1, y2 - y1)  # inches a pixel
  inches = Affine2D().translate(-(x1 + x2) / 2, -(y1 + y2) / 2)
  inches.scale(scale).translate(x, y)
  place = inches + ax.transData
  seen = TransformedBbox(Bbox.from_extents(x1, y1, x2, y2), place)
  corners = inches.transform([(0, 0), (width, height)])
  (left, top), (right, bottom) = corners.tolist()
  extent = (left, right, bottom, top)
  image = ax.imshow(picture.pixels, interpolation="none", extent=extent)
  image.set_clip_box(seen)
  looks: dict[str, Any] = {"transform": place, "clip_box": seen}
  for box in picture.boxes:
    _draw_box(ax, box, looks)
    if box.mask is not None:
      size = box.mask.shape[::-1]
      corner = np.array(box.corner)
      ends = inches.transform(np.stack([corner, corner + size]))
      (left, top), (right, bottom) = ends.tolist()
      veil = box.mask[..., None] * np.array([255, 255, 255, 96], np.uint8)
      ax.imshow(veil, extent=(left, right, bottom, top)).set_clip_box(seen)
  em = _LABEL_PT / 72 / scale
  labels = box_labels.labels(picture.boxes, (x1, y1, x2, y2), em)
  for box, (text, *middle) in zip(picture.boxes, labels):
    _draw_label(ax, text, BOX_LOOKS[box.kind][0], middle, looks)


def _draw_box(ax: style.Axes, box: Overlay, looks: dict[str, Any]) -> None:
  """Draw a box on a white line, so that it is visible on any ground."""
  from matplotlib.patches import Rectangle

  colour, dashes = BOX_LOOKS[box.kind]
  x1, y1, x2, y2 = box.box
  for line in (
    {"edgecolor": "white", "linewidth": 3.4, "alpha": 0.85},
    {"edgecolor": colour, "linewidth": 1.7, "linestyle": dashes},
  ):
    patch = Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False)
    patch.set(**looks, **line)
    ax.add_artist(patch)


def _draw_label(
  ax: style.Axes,
  text: str,
  colour: str,
  middle: Sequence[float],
  looks: dict[str, Any],
) -> None:
  frame = {"facecolor": "white", "edgecolor": colour, "linewidth": 0.6}
  ax.text(
    middle[0],
    middle[1],
    text,
    fontsize=_LABEL_PT,
    color=colour,
    ha="center",
    va="center",
    in_layout=False,
    zorder=4,
    bbox={"boxstyle": "square,pad=0.12", "alpha": 0.92, **frame},
    **looks,
  )
