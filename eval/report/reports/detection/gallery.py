"""Pictures with their objects and detections: hits, misses, false alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds.eval.cells.overlay import Overlay
from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.report.charts import box_labels, style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base

# Kind of a box -> letter, colour, line, what the legend says.
_KINDS: Mapping[str, tuple[str, str, Any, str]] = {
  "hit": (
    "H",
    "#00614a",
    "-",
    "H  hit: IoU >= 0.5 with an object of its class",
  ),
  "missed": ("M", "#8a4b00", (0, (5, 2)), "M  missed object"),
  "wrong": ("F", "#b3005e", (0, (1, 1.2)), "F  false alarm"),
}
_PANEL_IN = 3.0
_FONT_PT = 8.0
# Of a letter in a proportional font and of a line, of the font's size.
_LETTER, _LINE = 0.62, 1.55
_MARGIN = 0.12  # of the shown boxes, around them
_LEAST_SHARE = 0.4  # of a picture's sides that is shown
_LONGEST_TEXT = 24  # letters
_CLEAN = "clean"


class Gallery(base.Chart):
  """A line a condition: each picture clean, then corrupted, in the same crop.

  Lines tell the kinds of boxes apart, and letters, and colours: a hit is solid, H;
  a missed object dashed, M; a false alarm dotted, F. Masks are outlined.
  """

  stem = "detection_gallery"
  caption = "Hits, misses and false alarms"

  def draw(self, context: Context) -> style.Figure | None:
    """None without overlays."""
    shown = {title: p for title, p in context.overlays.items() if p}
    if not shown:
      return None
    clean = shown.get(_CLEAN, ())
    corrupted = {t: p for t, p in shown.items() if t != _CLEAN} or shown
    pairs = max(map(len, corrupted.values()))
    width = 2 * pairs if clean else pairs
    lines = len(corrupted)
    fig = style.figure(_PANEL_IN * width + 0.5, _PANEL_IN * lines + 1)
    grid = style.axes(fig, lines, width)
    for line, (title, pictures) in zip(grid, corrupted.items()):
      _line(line, title, pictures, clean if title != _CLEAN else ())
    _legend(fig, context.overlay_note)
    return fig


def _line(
  line: Sequence[style.Axes], title: str, pictures: Any, clean: Any
) -> None:
  for ax in line:
    style.bare(ax)
    ax.set_visible(False)
  step = 2 if len(clean) else 1
  for i, (image, boxes) in enumerate(pictures):
    before = clean[i] if i < len(clean) else None
    also = before[1] if before else ()
    view = _view(image.shape[:2], [*boxes, *also])
    _panel(
      line[step * i + step - 1], image, boxes, view, definitions.words(title)
    )
    if before is not None:
      _panel(line[step * i], before[0], before[1], view, _CLEAN)


def _view(size: tuple[int, int], boxes: Sequence[Overlay]) -> box_labels.Box:
  """The part of a picture that holds the boxes, of at least 40 % of its sides."""
  height, width = size
  if not boxes:
    return 0.0, 0.0, float(width), float(height)
  x1, y1, x2, y2 = np.array([b.box for b in boxes]).T
  ends = [
    _span(x1.min(), x2.max(), width),
    _span(y1.min(), y2.max(), height),
  ]
  return ends[0][0], ends[1][0], ends[0][1], ends[1][1]


def _span(low: float, high: float, side: int) -> tuple[float, float]:
  low, high = max(low, 0.0), min(high, float(side))
  extra = max(_MARGIN * (high - low), (_LEAST_SHARE * side - high + low) / 2, 2)
  return max(low - extra, 0.0), min(high + extra, float(side))


def _panel(
  ax: style.Axes,
  image: np.ndarray,
  boxes: Sequence[Overlay],
  view: box_labels.Box,
  title: str,
) -> None:
  ax.set_visible(True)
  height, width = image.shape[:2]
  ax.imshow(image, interpolation="nearest", extent=(0, width, height, 0))
  ax.set_xlim(view[0], view[2])
  ax.set_ylim(view[3], view[1])
  ax.set_title(title, fontsize=9, pad=3)
  for box in boxes:
    _draw(ax, box)
  _write(ax, boxes, view)


def _draw(ax: style.Axes, overlay: Overlay) -> None:
  """A box on a white line, so that it is seen on any ground; a mask's outline."""
  from matplotlib import patheffects
  from matplotlib.patches import Rectangle

  _, colour, dashes, _ = _KINDS[overlay.kind]
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
  texts = [_text(box) for box in boxes]
  sizes = [
    box_labels.Label((len(t) + 1) * _LETTER * em, _LINE * em) for t in texts
  ]
  places = box_labels.place([box.box for box in boxes], sizes, view)
  for box, text, (x1, y1, x2, y2) in zip(boxes, texts, places):
    ax.text(
      (x1 + x2) / 2,
      (y1 + y2) / 2,
      text,
      fontsize=_FONT_PT,
      color=_KINDS[box.kind][1],
      ha="center",
      va="center",
      clip_on=True,
      zorder=4,
      bbox={
        "boxstyle": "square,pad=0.12",
        "facecolor": "white",
        "edgecolor": _KINDS[box.kind][1],
        "linewidth": 0.6,
        "alpha": 0.92,
      },
    )


def _text(box: Overlay) -> str:
  text = f"{_KINDS[box.kind][0]} {box.text}"
  return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _legend(fig: style.Figure, note: str) -> None:
  from matplotlib.lines import Line2D

  fig.legend(
    [
      Line2D([], [], color=colour, linestyle=dashes, linewidth=1.7)
      for _, colour, dashes, _ in _KINDS.values()
    ],
    [text for _, _, _, text in _KINDS.values()],
    loc="outside upper center",
    ncols=len(_KINDS),
    title=note or None,
    handlelength=3.5,
  )
