"""Figure 5: share of wrong frames at each offset from the anchor."""

from robust_tfds.eval.report.figures.parts import redrawn
from robust_tfds.eval.report.reports.frames import offsets


class Figure5(redrawn.Redrawn):
  """A line a model, with intervals."""

  title = "Figure 5: errors at each offset from the anchor"
  source = "runs; the paper prints no numbers of it"
  tasks = ("frames",)
  report = offsets.Offsets
  shows = ("error/offset=",)
