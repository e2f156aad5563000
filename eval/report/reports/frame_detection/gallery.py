"""Anchors beside the frames that a detector does worst on (Figure 4)."""

from collections.abc import Sequence

from eval.charts import pictures
from eval.report.reports.detection import gallery
from eval.tables.context import Context

_ANCHOR = "anchor"


class Gallery(gallery.Gallery):
  """A line of sets, each anchor before its worst frame, in the same crop."""

  stem = "worst_frames"
  caption = "Anchors and their worst frames"
  reading = (
    "The sets whose worst frame loses most: the anchor, then the frame of the"
    " lowest AP. Solid and H: a hit (IoU of at least 0.5 with an object of its"
    " class); dashed and M: a missed object; dotted and F: a false alarm."
  )

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    shown = dict(context.overlays)
    anchors = shown.pop(_ANCHOR, ())
    return [
      gallery.line(title, of, anchors, _ANCHOR)
      for title, of in shown.items()
      if of
    ]
