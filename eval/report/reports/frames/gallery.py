"""Anchors that each model gets right, over frames that it does not (Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base


class Gallery(base.Report):
  """Two lines a title: anchors, and below each the frame that fails."""

  pictures = (("natural_gallery.png", "Sets with failing frames"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes natural_gallery.png; nothing where no set fails."""
    titles = {
      t: pictures for t, pictures in context.gallery.items() if pictures
    }
    if not titles:
      return []
    columns = max(len(pictures) // 2 for pictures in titles.values())
    fig = style.figure(1.7 * columns + 0.6, 3.9 * len(titles) + 0.3)
    grid = style.axes(fig, 2 * len(titles), columns)
    for ax in grid.flat:
      ax.set_visible(False)
    for i, (title, pictures) in enumerate(titles.items()):
      for j, (pixels, caption) in enumerate(pictures):
        ax = grid[2 * i + j % 2, j // 2]
        ax.set_visible(True)
        ax.imshow(pixels, interpolation="nearest")
        style.bare(ax)
        ax.set_xlabel(caption, fontsize=7)
      grid[2 * i, 0].set_title(title, loc="left")
    return style.save(fig, folder, "natural_gallery", context.provenance)[:1]
