"""One video under every perturbation: some of its frames."""

from collections.abc import Sequence

from eval.charts import pictures
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables.context import Context

_FRAMES = 8  # of a strip
_SEVERITY = 3


class Strips(base.Pictures):
  """A line per condition: clean, then every perturbation at severity 3."""

  stem = "action_strips"
  caption = "One video under every perturbation"
  reading = (
    f"A line is a perturbation at severity {_SEVERITY}; time runs to the right."
  )
  side = 1.13
  name_width = 1.4

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    keys = [("", 0), *((n, _SEVERITY) for n in context.corruptions)]
    lines = []
    for key in keys:
      if key in context.samples:
        video = context.samples[key]
        shown = [
          pictures.Picture(video[i], f"{i + 1} of {len(video)}")
          for i in pictures.frames(video, _FRAMES)
        ]
        lines.append(pictures.Line(shown, definitions.words(key[0]) or "clean"))
    return lines
