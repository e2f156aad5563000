"""Pictures with their objects and detections: hits, misses, false alarms."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.cells.files.overlay import Overlay
from eval.charts import box_labels, pictures
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables.context import Context
from robust_tfds.charts import style

# Kind of a box -> colour, line, what the legend says.
_KINDS: Mapping[str, tuple[str, Any, str]] = {
  "hit": ("#00614a", "-", "H  hit: IoU >= 0.5 with an object of its class"),
  "missed": ("#8a4b00", (0, (5, 2)), "M  missed object"),
  "wrong": ("#b3005e", (0, (1, 1.2)), "F  false alarm"),
}
_PANEL_IN = 3.0
_FONT_PT = 8.0
_MARGIN = 0.12  # of the shown boxes, around them
_LEAST_SHARE = 0.4  # of a picture's sides that is shown
_CLEAN = "clean"


class Gallery(base.Pictures):
  """A line a condition: each picture clean, then corrupted, in the same crop.

  Lines tell the kinds of boxes apart, and letters, and colours: a hit is solid, H;
  a missed object dashed, M; a false alarm dotted, F. Masks are outlined.
  """

  stem = "detection_gallery"
  caption = "Hits, misses and false alarms"
  reading = (
    "Each picture clean, then corrupted at severity 3. Solid and H: a hit (IoU of at"
    " least 0.5 with an object of its class); dashed and M: a missed object; dotted"
    " and F: a false alarm."
  )

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    shown = {title: of for title, of in context.overlays.items() if of}
    clean = shown.get(_CLEAN, ())
    corrupted = {t: of for t, of in shown.items() if t != _CLEAN}
    if not corrupted:
      return [line(_CLEAN, clean, ())] if clean else []
    return [line(title, of, clean) for title, of in corrupted.items()]

  def draw(self, context: Context) -> style.Figure | None:
    lines = self.lines(context)
    if not lines:
      return None
    width = max(len(line.pictures) for line in lines)
    fig = style.figure(_PANEL_IN * width + 0.5, _PANEL_IN * len(lines) + 1)
    for axes, line in zip(style.axes(fig, len(lines), width), lines):
      for ax in axes:
        style.bare(ax)
        ax.set_visible(False)
      for ax, picture in zip(axes, line.pictures):
        _panel(ax, picture)
    _legend(fig, context.overlay_note)
    return fig


def line(title: str, of: Any, clean: Any, first: str = _CLEAN) -> pictures.Line:
  """Pictures of a condition, each behind what it is held against.

  Args:
    title: the condition's.
    of: (picture, boxes) pairs.
    clean: pairs that they are held against.
    first: what these are called.
  """
  name, out = definitions.words(title), []
  for i, (image, boxes) in enumerate(of):
    before = [clean[i]] if i < len(clean) else []
    every = [box for _, listed in before for box in listed]
    view = _view(image.shape[:2], [*boxes, *every])
    pairs = [*((first, *one) for one in before), (name, image, boxes)]
    out += [
      pictures.Picture(p, words, _counts(listed), boxes=listed, view=view)
      for words, p, listed in pairs
    ]
  return pictures.Line(out, name)


def _counts(boxes: Sequence[Overlay]) -> str:
  """How many boxes there are of each kind, in words."""
  kinds = collections.Counter(box.kind for box in boxes)
  hit, missed, wrong = kinds["hit"], kinds["missed"], kinds["wrong"]
  return f"{hit} hit, {missed} missed, {wrong} false"


def _view(size: tuple[int, int], boxes: Sequence[Overlay]) -> box_labels.Box:
  """The part of a picture that holds the boxes, of at least 40 % of its sides."""
  height, width = size
  if not boxes:
    return 0.0, 0.0, float(width), float(height)
  x1, y1, x2, y2 = np.array([b.box for b in boxes]).T
  ends = [_span(x1.min(), x2.max(), width), _span(y1.min(), y2.max(), height)]
  return ends[0][0], ends[1][0], ends[0][1], ends[1][1]


def _span(low: float, high: float, side: int) -> tuple[float, float]:
  low, high = max(low, 0.0), min(high, float(side))
  extra = max(_MARGIN * (high - low), (_LEAST_SHARE * side - high + low) / 2, 2)
  return max(low - extra, 0.0), min(high + extra, float(side))


def _panel(ax: style.Axes, picture: pictures.Picture) -> None:
  image, view = picture.pixels, picture.view
  assert image is not None and view is not None
  ax.set_visible(True)
  height, width = image.shape[:2]
  ax.imshow(image, interpolation="nearest", extent=(0, width, height, 0))
  ax.set_xlim(view[0], view[2])
  ax.set_ylim(view[3], view[1])
  ax.set_title(picture.title, fontsize=9, pad=3)
  for box in picture.boxes:
    _draw(ax, box)
  _write(ax, picture.boxes, view)


def _draw(ax: style.Axes, overlay: Overlay) -> None:
  """A box on a white line, so that it is seen on any ground; a mask's outline."""
  from matplotlib import patheffects
  from matplotlib.patches import Rectangle

  colour, dashes, _ = _KINDS[overlay.kind]
  x1, y1, x2, y2 = overlay.box
  for line in (
    {"edgecolor": "white", "linewidth": 3.4, "alpha": 0.85},
    {"edgecolor": colour, "linewidth": 1.7, "linestyle": dashes},
  ):
    ax.add_patch(
      Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False, zorder=2, **line)
    )
  if overlay.mask is not None and overlay.mask.any():
    inside = np.pad(overlay.mask, 1).astype(np.float32)
    x = np.arange(inside.shape[1]) + overlay.corner[0] - 0.5
    y = np.arange(inside.shape[0]) + overlay.corner[1] - 0.5
    outline = ax.contour(
      x, y, inside, [0.5], colors=[colour], linewidths=1.1, linestyles=[dashes]
    )
    outline.set_path_effects(
      [patheffects.withStroke(linewidth=2.4, foreground="white")]
    )
    ax.contourf(x, y, inside, [0.5, 2], colors=[colour], alpha=0.25)


def _write(
  ax: style.Axes, boxes: Sequence[Overlay], view: box_labels.Box
) -> None:
  """Labels on a white ground, inside the panel, none over another."""
  side = max(view[2] - view[0], view[3] - view[1])
  em = _FONT_PT / 72 * side / (0.9 * _PANEL_IN)  # px of the picture
  for box, (text, x, y) in zip(boxes, box_labels.written(boxes, view, em)):
    ax.text(
      x,
      y,
      text,
      fontsize=_FONT_PT,
      color=_KINDS[box.kind][0],
      ha="center",
      va="center",
      clip_on=True,
      zorder=4,
      bbox={
        "boxstyle": "square,pad=0.12",
        "facecolor": "white",
        "edgecolor": _KINDS[box.kind][0],
        "linewidth": 0.6,
        "alpha": 0.92,
      },
    )


def _legend(fig: style.Figure, note: str) -> None:
  from matplotlib.lines import Line2D

  fig.legend(
    [
      Line2D([], [], color=colour, linestyle=dashes, linewidth=1.7)
      for colour, dashes, _ in _KINDS.values()
    ],
    [text for _, _, text in _KINDS.values()],
    loc="outside upper center",
    ncols=len(_KINDS),
    title=note or None,
    handlelength=3.5,
  )
