"""Flip rate and top-5 distance of every perturbation, a bar a model."""

from eval.charts import bars
from eval.metrics.definitions import Metric
from eval.report.reports import corruption_bars
from eval.tables import pivot
from eval.tables.context import Context
from robust_tfds.charts import style

_NONE = style.Value(float("nan"))


class Bars(corruption_bars.CorruptionBars):
  """A panel a number; of sequences, at their easiest difficulty."""

  stem = "stability_bars"
  height = 2.6

  def panel(self, context: Context, metric: Metric) -> bars.Panel:
    scale = 100 if metric.percent else 1
    series = []
    for model in context.models:
      rows = [  # the easiest difficulty is the first row
        pivot.row(context, model, corruption=name, metric=metric.name)
        for name in pivot.names(context)
      ]
      values = [style.scaled(row, scale) if row else _NONE for row in rows]
      series.append(bars.Series(model, values))
    return bars.Panel(
      series,
      y=pivot.with_unit(metric.axis or metric.heading, metric),
      line=100 if metric.normalises else None,  # 100 is the baseline
    )
