"""Anchors that a model gets right above similar frames it gets wrong (Figure 1)."""

from collections.abc import Sequence

from eval.charts import pictures
from eval.report.reports import base
from eval.tables.context import Context


class Gallery(base.Pictures):
  """Two lines per title: anchors, and below each the frame that fails.

  On the page, each frame is beside its anchor.
  """

  stem = "natural_gallery"
  caption = "Sets with failing frames"
  reading = (
    "In pairs: an anchor that {model} gets right, and a frame at most ten away that"
    " it gets wrong."
  )
  side = 1.7
  name_width = 0.6

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    lines = []
    for line in self.folded(context)[0]:
      shown = line.pictures
      lines.append(pictures.Line(shown[::2], head=line.head))
      lines.append(pictures.Line(shown[1::2]))
    return lines

  def folded(
    self, context: Context
  ) -> tuple[Sequence[pictures.Line], Sequence[pictures.Line]]:
    lines = [
      pictures.Line(
        [pictures.Picture(p, caption=words) for p, words in shown], head=title
      )
      for title, shown in context.gallery.items()
      if shown
    ]
    return lines, []
