"""Pictures with their objects and detections: hits, misses, false alarms."""

from __future__ import annotations

import collections
from collections.abc import Sequence

import numpy as np

from eval.cells.files.overlay import Overlay
from eval.charts import box_labels, pictures
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables.context import Context
from robust_tfds.charts import style

_KINDS = {
  "hit": "hit: IoU >= 0.5 with an object of its class",
  "missed": "missed object",
  "wrong": "false alarm",
}
READING = (
  "Solid and H: a hit (IoU of at least 0.5 with an object of its class); dashed and"
  " M: a missed object; dotted and F: a false alarm."
)
_MARGIN = 0.12  # around the boxes in view, as a share of their extent
_MIN_SHARE = 0.4  # at least so much of a picture's sides is in view
_CLEAN = "clean"
# A picture and its boxes.
Pair = tuple[np.ndarray, Sequence[Overlay]]


class Gallery(base.Pictures):
  """A line per condition: each picture clean, then corrupted, in the same crop."""

  stem = "detection_gallery"
  caption = "Hits, misses and false alarms"
  reading = f"Each picture clean, then corrupted at severity 3. {READING}"
  side = 3.0

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    shown = {title: pairs for title, pairs in context.overlays.items() if pairs}
    clean = shown.pop(_CLEAN, ())
    if not shown and clean:
      return [comparison(_CLEAN, clean, ())]
    return [comparison(title, pairs, clean) for title, pairs in shown.items()]

  def draw(self, context: Context) -> style.Figure | None:
    fig = super().draw(context)
    if fig:
      _add_legend(fig, context.overlay_note)
    return fig


def comparison(
  title: str,
  pairs: Sequence[Pair],
  references: Sequence[Pair],
  reference_title: str = _CLEAN,
) -> pictures.Line:
  """Return the pictures of a condition, each after its reference picture.

  Args:
    title: title of the condition.
    pairs: pictures under the condition.
    references: the same pictures, e.g. clean; may be fewer.
    reference_title: title of the references.
  """
  name, listed = definitions.words(title), []
  for i, (image, boxes) in enumerate(pairs):
    shown = [(reference_title, *pair) for pair in references[i : i + 1]]
    shown.append((name, image, boxes))
    view = _view(image.shape[:2], [box for *_, every in shown for box in every])
    listed += [
      pictures.Picture(pixels, words, _counts(boxes), boxes=boxes, view=view)
      for words, pixels, boxes in shown
    ]
  return pictures.Line(listed, name)


def _counts(boxes: Sequence[Overlay]) -> str:
  """Return a text with the number of boxes of each kind."""
  kinds = collections.Counter(box.kind for box in boxes)
  hit, missed, wrong = kinds["hit"], kinds["missed"], kinds["wrong"]
  return f"{hit} hit, {missed} missed, {wrong} false"


def _view(size: tuple[int, int], boxes: Sequence[Overlay]) -> box_labels.Box:
  """Return the part of a picture that holds the boxes."""
  height, width = size
  if not boxes:
    return 0.0, 0.0, float(width), float(height)
  x1, y1, x2, y2 = np.array([b.box for b in boxes]).T
  left, right = _span(x1.min(), x2.max(), width)
  top, bottom = _span(y1.min(), y2.max(), height)
  return left, top, right, bottom


def _span(low: float, high: float, side: int) -> tuple[float, float]:
  """Return both ends with a margin, at least `_MIN_SHARE` of the side apart."""
  low, high = max(low, 0.0), min(high, float(side))
  extra = max(_MARGIN * (high - low), (_MIN_SHARE * side - high + low) / 2, 2)
  return max(low - extra, 0.0), min(high + extra, float(side))


def _add_legend(fig: style.Figure, note: str) -> None:
  from matplotlib.lines import Line2D

  fig.legend(
    [
      Line2D([], [], color=colour, linestyle=dashes, linewidth=1.7)
      for colour, dashes in pictures.BOX_LOOKS.values()
    ],
    [f"{box_labels.LETTERS[kind]}  {words}" for kind, words in _KINDS.items()],
    loc="outside upper center",
    ncols=len(_KINDS),
    title=note or None,
    handlelength=3.5,
  )
