"""A line per model over the values of a breakdown, e.g. over k."""

import dataclasses

from eval.report.figures import base
from eval.report.figures.parts import own, redrawn
from eval.report.reports.frames import k_curve
from robust_tfds.charts import lines
from robust_tfds.charts.frame import INSIDE, Frame


@dataclasses.dataclass(frozen=True, kw_only=True)
class BreakdownLines(base.PaperFigure):
  """Rates in % with the bands of their intervals.

  Attributes:
    metric: metric of the table.
    breakdown: its values are on the x axis.
    axis: label of the x axis.
  """

  needs_runs: bool = True
  tasks: tuple[str, ...] = ("frames",)
  source: str = "runs; the paper prints no numbers of it"
  metric: str
  breakdown: str
  axis: str

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    context = redrawn.context(request, models)
    curves = k_curve.breakdown_lines(context, self.metric, self.breakdown)
    panel = lines.Panel(curves, title=self.title)
    frame = Frame(
      *(6, 4),
      x=self.axis,
      y="accuracy (%)",
      x_ticks=(range(11), None),
      legend=INSIDE,
    )
    fig = lines.draw([panel], frame)
    prefix = f"{self.metric}/{self.breakdown}="
    rows = redrawn.numbers(models, lambda r: r.metric.startswith(prefix))
    return base.Drawn(fig, context.provenance, redrawn.numbers_sheet(rows))
