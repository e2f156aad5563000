"""One example under every corruption and severity."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot


class Gallery(base.Report):
  """A line a corruption, a column a severity."""

  pictures = (("gallery.png", "One example under every corruption"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes gallery.png and .svg; nothing without samples."""
    names = pivot.names(context)
    severities = sorted({s for _, s in context.samples if s})
    if not names or not severities:
      return []
    columns = [0, *severities]
    fig = style.figure(1.1 * len(columns) + 1.2, 1.12 * len(names) + 0.4)
    grid = style.axes(fig, len(names), len(columns))
    for line, name in zip(grid, names):
      for ax, severity in zip(line, columns):
        style.bare(ax)
        image = context.samples.get((name, severity) if severity else ("", 0))
        if image is not None:
          ax.imshow(image, interpolation="nearest")
      line[0].set_ylabel(style.words(name), rotation=0, ha="right", va="center")
    for ax, severity in zip(grid[0], columns):
      ax.set_title(str(severity) if severity else "clean")
    return style.save(fig, folder, "gallery", context.provenance)[:1]
