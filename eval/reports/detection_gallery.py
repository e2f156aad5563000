"""Pictures with their objects and detections: hits, misses, false alarms."""

from __future__ import annotations

import pathlib
from typing import Any

from eval import reports
from eval.reports import style

TASKS = ("detection",)
PICTURES = (("detection_gallery.png", "Hits, misses and false alarms"),)
# What `gallery` of the task says of each box, and how it is drawn.
KINDS = {
  "hit": ("#009E73", "-", "found"),
  "missed": ("#E69F00", "--", "missed object"),
  "wrong": ("#D55E00", "-", "false alarm"),
}


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes detection_gallery.png and .svg; nothing without a gallery.

  One row a condition, one column a picture. Boxes: green are detections that hit
  an object (IoU 0.5, same class), orange dashed objects that no detection hits,
  red detections that hit none.
  """
  rows = [(title, shown) for title, shown in context.overlays.items() if shown]
  if not rows:
    return []
  columns = max(len(shown) for _, shown in rows)
  fig = style.figure(2.4 * columns + 0.8, 2.5 * len(rows) + 0.8)
  grid = style.axes(fig, len(rows), columns)
  for line, (title, shown) in zip(grid, rows):
    for ax in line:
      ax.set_xticks([])
      ax.set_yticks([])
      ax.grid(False)
    for ax, (image, boxes) in zip(line, shown):
      ax.imshow(image, interpolation="nearest")
      for kind, box, text in boxes:
        _draw(ax, kind, box, text)
    for ax in line[len(shown) :]:
      ax.set_visible(False)
    line[0].set_ylabel(title, fontsize=8)
  fig.legend(
    [_line(*KINDS[k][:2]) for k in KINDS],
    [KINDS[k][2] for k in KINDS],
    loc="outside upper center",
    ncols=len(KINDS),
  )
  return style.save(fig, folder, "detection_gallery", context.provenance)[:1]


def _line(colour: str, dashes: Any) -> Any:
  from matplotlib.lines import Line2D

  return Line2D([], [], color=colour, linestyle=dashes)


def _draw(ax, kind, box, text):
  from matplotlib.patches import Rectangle

  colour, dashes, _ = KINDS[kind]
  x1, y1, x2, y2 = box
  ax.add_patch(
    Rectangle(
      (x1 - 0.5, y1 - 0.5),
      x2 - x1,
      y2 - y1,
      fill=False,
      edgecolor=colour,
      linestyle=dashes,
      linewidth=1.2,
    )
  )
  ax.text(
    x1,
    y1 - 1 if kind != "missed" else y2 + 1,
    text,
    fontsize=6,
    color=colour,
    va="bottom" if kind != "missed" else "top",
    clip_on=True,
  )
