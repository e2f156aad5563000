"""The worst examples of clean data and of the worst conditions, with their values."""

from collections.abc import Sequence

from eval.charts import pictures
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables.context import Context


class Worst(base.Pictures):
  """A line per condition; below each picture its id and its value."""

  stem = "worst"
  caption = "The worst examples"
  reading = (
    "Clean, then the conditions with the worst means: the examples on which {model}"
    " has the worst values of the first metric, as stored or corrupted, below each"
    " its id and its value."
  )
  side = 1.6

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    """Return a line for each condition."""
    return [
      pictures.Line(
        [pictures.Picture(pixels, caption=words) for pixels, words in shown],
        definitions.words(title),
      )
      for title, shown in context.gallery.items()
    ]
