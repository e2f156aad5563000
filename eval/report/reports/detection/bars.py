"""AP of every corruption, a bar a model, its clean AP as a line."""

from __future__ import annotations

import math

from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.report.charts import bars, style
from robust_tfds.eval.report.charts.frame import ABOVE, Frame
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot

# AP over the severities -> AP on clean images.
_CLEAN = {"mean_ap": "p", "segm/mean_ap": "segm/p"}


class Bars(base.Chart):
  """A panel a kind of AP: of boxes, and of masks where there are any."""

  stem = "detection_bars"
  caption = "AP of every corruption"

  def draw(self, context: Context) -> style.Figure | None:
    """None without corruptions."""
    names, metrics = pivot.names(context), pivot.details(context)
    if not names or not metrics:
      return None
    words = [n.replace("_", "\n") for n in names]
    return bars.draw(
      [_panel(context, metric) for metric in metrics],
      bars.Groups(words, common=len(context.common)),
      Frame(11, 2.8 * len(metrics) + 0.8, 1, legend=ABOVE, share="x"),
    )


def _panel(context: Context, metric: Metric) -> bars.Panel:
  series = []
  for model in context.models:
    values = [
      style.Value(100 * pivot.by_corruption(context, model, metric.name, n))
      for n in pivot.names(context)
    ]
    clean = 100 * pivot.headline(context, model, _CLEAN[metric.name])
    level = None if math.isnan(clean) else clean
    series.append(bars.Series(model, values, level))
  heading = pivot.with_unit(metric.heading, metric)
  return bars.Panel(series, y=f"{heading}, mean over severities")
