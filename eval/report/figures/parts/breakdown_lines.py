"""A line a model over the values of a breakdown, e.g. over k."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own, redrawn
from robust_tfds.eval.report.tables import breakdowns


@dataclasses.dataclass(frozen=True, kw_only=True)
class BreakdownLines(base.PaperFigure):
  """Rates in % with the band of their intervals.

  Attributes:
    metric: of the table.
    breakdown: whose values the axis has.
    axis: below it.
  """

  needs_runs: bool = True
  tasks: tuple[str, ...] = ("frames",)
  source: str = "runs; the paper prints no numbers of it"
  metric: str
  breakdown: str
  axis: str

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    models = own.of(self.boards(request))
    told = redrawn.context(request, models)
    fig = style.figure(6, 4)
    ax = style.axes(fig, 1, 1)[0, 0]
    for i, label in enumerate(told.models):
      pairs = breakdowns.series(told, label, self.metric, self.breakdown)
      x = [float(value) for value, _ in pairs]
      style.band(ax, x, [row for _, row in pairs], i, label)
    ax.set_title(self.title, loc="left", fontsize=9)
    ax.set_xticks(range(11))
    ax.set_xlabel(self.axis)
    ax.set_ylabel("accuracy (%)")
    ax.legend(fontsize=7)
    prefix = f"{self.metric}/{self.breakdown}="
    lines = redrawn.numbers(models, lambda r: r.metric.startswith(prefix))
    return [
      *style.save(fig, folder, self.name, told.provenance),
      redrawn.write_numbers(lines, folder, self.name),
    ]
