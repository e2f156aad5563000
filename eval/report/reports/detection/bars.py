"""AP of every corruption, a bar a model, its clean AP as a line."""

import math

from eval.charts import bars
from eval.metrics.definitions import Metric
from eval.report.reports import corruption_bars
from eval.tables import pivot
from eval.tables.context import Context
from robust_tfds.charts import style

# AP over the severities -> AP on clean images.
_CLEAN = {"mean_ap": "p", "segm/mean_ap": "segm/p"}


class Bars(corruption_bars.CorruptionBars):
  """A panel a kind of AP: of boxes, and of masks where there are any."""

  stem = "detection_bars"
  height = 2.8

  def panel(self, context: Context, metric: Metric) -> bars.Panel:
    series = []
    for model in context.models:
      values = [
        style.Value(100 * pivot.by_corruption(context, model, metric.name, n))
        for n in pivot.names(context)
      ]
      of_clean = _CLEAN[metric.part_of or metric.name]
      clean = 100 * pivot.headline(context, model, of_clean)
      level = None if math.isnan(clean) else clean
      series.append(bars.Series(model, values, level))
    heading = pivot.with_unit(metric.heading, metric)
    return bars.Panel(series, y=f"{heading}, mean over severities")
