"""Pictures with their objects and detections: hits, misses, false alarms."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from etils import epath

from robust_tfds.eval.reports import base
from robust_tfds.eval.reports.context import Context
from robust_tfds.eval.reports.context import Overlay
from robust_tfds.eval.reports.parts import style

# Kind of a box -> colour, line, and what the legend says.
_KINDS: Mapping[str, tuple[str, Any, str]] = {
  "hit": ("#009E73", "-", "found"),
  "missed": ("#E69F00", "--", "missed object"),
  "wrong": ("#D55E00", "-", "false alarm"),
}


class Gallery(base.Report):
  """A line a condition, a column a picture.

  Boxes: green are detections that hit an object (IoU 0.5, same class), orange
  dashed objects that no detection hits, red detections that hit none.
  """

  pictures = (("detection_gallery.png", "Hits, misses and false alarms"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes detection_gallery.png and .svg; nothing without overlays."""
    conditions = {title: p for title, p in context.overlays.items() if p}
    if not conditions:
      return []
    columns = max(map(len, conditions.values()))
    fig = style.figure(2.4 * columns + 0.8, 2.5 * len(conditions) + 0.8)
    grid = style.axes(fig, len(conditions), columns)
    for line, (title, pictures) in zip(grid, conditions.items()):
      for ax in line:
        style.bare(ax)
      for ax, (image, boxes) in zip(line, pictures):
        ax.imshow(image, interpolation="nearest")
        for box in boxes:
          _draw(ax, box)
      for ax in line[len(pictures) :]:
        ax.set_visible(False)
      line[0].set_ylabel(title, fontsize=8)
    _legend(fig)
    stem = "detection_gallery"
    return style.save(fig, folder, stem, context.provenance)[:1]


def _legend(fig: style.Figure) -> None:
  from matplotlib.lines import Line2D

  fig.legend(
    [
      Line2D([], [], color=colour, linestyle=dashes)
      for colour, dashes, _ in _KINDS.values()
    ],
    [text for _, _, text in _KINDS.values()],
    loc="outside upper center",
    ncols=len(_KINDS),
  )


def _draw(ax: style.Axes, box: Overlay) -> None:
  from matplotlib.patches import Rectangle

  kind, (x1, y1, x2, y2), text = box
  colour, dashes, _ = _KINDS[kind]
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
  # Objects are named below, detections above: the two often coincide.
  below = kind == "missed"
  ax.text(
    x1,
    y2 + 1 if below else y1 - 1,
    text,
    fontsize=6,
    color=colour,
    va="top" if below else "bottom",
    clip_on=True,
  )
