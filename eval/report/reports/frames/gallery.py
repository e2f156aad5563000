"""Anchors that each model gets right, over frames that it does not (Figure 1)."""

from __future__ import annotations

from robust_tfds.eval.report.charts import pictures, style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base


class Gallery(base.Chart):
  """Two lines a title: anchors, and below each the frame that fails."""

  stem = "natural_gallery"
  caption = "Sets with failing frames"

  def draw(self, context: Context) -> style.Figure | None:
    """None where no set fails."""
    lines = []
    for title, shown in context.gallery.items():
      of_set = [pictures.Picture(p, caption=words) for p, words in shown]
      if shown:
        lines.append(pictures.Line(of_set[::2], head=title))
        lines.append(pictures.Line(of_set[1::2]))
    return pictures.draw(lines, 1.7, name_width=0.6) if lines else None
