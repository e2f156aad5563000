"""Anchors beside the frames that a detector does worst on (Figure 4)."""

from collections.abc import Sequence

from eval.charts import pictures
from eval.report.reports.detection import gallery
from eval.tables.context import Context

_ANCHOR = "anchor"


class Gallery(gallery.Gallery):
  """A line of anchor sets, each anchor before its worst frame, in the same crop."""

  stem = "worst_frames"
  caption = "Anchors and their worst frames"
  reading = (
    "The sets whose worst frame loses most: the anchor, then the frame of the"
    f" lowest AP. {gallery.READING}"
  )

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    shown = dict(context.overlays)
    anchors = shown.pop(_ANCHOR, ())
    return [
      gallery.comparison(title, pairs, anchors, _ANCHOR)
      for title, pairs in shown.items()
      if pairs
    ]
