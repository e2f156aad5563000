"""One example under every corruption and severity."""

from __future__ import annotations

from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.report.charts import pictures, style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot


class Gallery(base.Chart):
  """A line a corruption, a column a severity."""

  stem = "gallery"
  caption = "One example under every corruption"

  def draw(self, context: Context) -> style.Figure | None:
    """None without samples."""
    names = pivot.names(context)
    severities = sorted({s for _, s in context.samples if s})
    if not names or not severities:
      return None
    lines = [
      pictures.Line(
        [
          pictures.Picture(
            context.samples.get((name, severity) if severity else ("", 0)),
            "" if i else str(severity or "clean"),
          )
          for severity in (0, *severities)
        ],
        definitions.words(name),
      )
      for i, name in enumerate(names)
    ]
    return pictures.draw(lines, 1.1)
