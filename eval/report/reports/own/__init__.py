"""Reports of custom metrics: curves of each, and the worst examples."""

from __future__ import annotations

import dataclasses

from eval.report.reports import base
from eval.report.reports.own.worst import Worst
from eval.report.reports.severity_curves import SeverityCurves
from eval.tables.context import Context
from robust_tfds.charts import style

_MAX_METRICS = 4  # metrics that have curves


@dataclasses.dataclass(frozen=True)
class Curves(SeverityCurves):
  """The curves of one of the run's metrics.

  Attributes:
    place: the metric's, among those of the run.
  """

  place: int = 0

  def draw(self, context: Context) -> style.Figure | None:
    """Draw the metric's cells; None if the run has fewer metrics."""
    name = self._name(context)
    if not name:
      return None
    named = SeverityCurves(self.stem, name, name, self.columns)
    return named.draw(context)

  def page_chart(self, context: Context) -> base.PageChart | None:
    """Return the figure under the metric's name."""
    chart, name = super().page_chart(context), self._name(context)
    if chart is None or not name:
      return None
    return dataclasses.replace(chart, title=f"{chart.title}: {name}")

  def _name(self, context: Context) -> str:
    names = [m.name for m in context.facts.others if "/" not in m.name]
    return names[self.place] if self.place < len(names) else ""


REPORTS = {
  **{
    f"severity_curves_{i + 1}": Curves(
      f"severity_curves_{i + 1}", "", "", 5, place=i
    )
    for i in range(_MAX_METRICS)
  },
  "worst": Worst(),
}
