"""Answers of a real network to photographs, by photograph and corruption."""

from collections.abc import Sequence

from eval.charts import pictures
from eval.report.reports import base
from eval.tables import markdown
from eval.tables.context import Context


class Photographs(base.Pictures):
  """Severity 0 to 5 from left to right, each picture with the network's answer."""

  stem = "photographs"
  caption = "What a real ImageNet network says"
  reading = (
    "EfficientNet-Lite0, of no table here, on two photographs: severity 0 to 5 from"
    " left to right, below each the first label and its score."
  )
  side = 1.7
  name_width = 0.6

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    return [
      pictures.Line(
        [pictures.Picture(p, caption=words) for p, words in shown], head=title
      )
      for title, shown in context.gallery.items()
    ]

  def text(self, context: Context) -> str:
    lines = (
      f"{title}: {' · '.join(words for _, words in shown)}"
      for title, shown in context.gallery.items()
    )
    return "".join(f"{markdown.escape(line)}\n" for line in lines)
