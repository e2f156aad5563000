"""Robustness against accuracy: a point per model, its area the multiply-adds."""

from __future__ import annotations

from eval.charts import scatter
from eval.report.reports import base
from eval.tables import pivot
from eval.tables.context import Context
from robust_tfds.charts import style
from robust_tfds.charts.frame import Frame


class Scatter(base.Chart):
  """gamma_r over clean accuracy."""

  stem = "action_scatter"
  caption = "Robustness against accuracy"
  reading = (
    "A point is a model: further right it is more often right on clean"
    " videos, further up it keeps more of that. The area: its"
    " multiply-adds."
  )
  shows = "A scatter plot, clean accuracy across, relative robustness up"

  def draw(self, context: Context) -> style.Figure | None:
    points: list[scatter.Point] = []
    for model in context.models:
      clean, robust = (
        pivot.row(context, model, corruption="", config="", metric=metric)
        for metric in ("clean_accuracy", "gamma_r")
      )
      if clean and robust:
        area = 40 + 4 * context.gflops.get(model, 0.0)
        point = scatter.Point(
          *(style.scaled(clean), style.scaled(robust), len(points)),
          name=model,
          area=area,
          looks={"marker": "o", "alpha": 0.7},
        )
        points.append(point)
    if not points:
      return None
    panel = scatter.Panel(points, margins=(0.15, 0.15))
    words = "relative robustness gamma_r (%)"
    return scatter.draw([panel], Frame(6, 4.4, x="clean accuracy (%)", y=words))
