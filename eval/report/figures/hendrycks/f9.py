"""Figure 9: accuracy on seen and unseen subtypes over accuracy."""

from robust_tfds.eval.papers import doubt
from robust_tfds.eval.report.charts import scatter
from robust_tfds.eval.report.charts.frame import OVER, Frame
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import (
  benchmark_scatter,
  printed,
  sheet,
)

_TITLES = {
  "unseen_subtype_accuracy": "unseen subtypes",
  "seen_subtype_accuracy": "subtypes seen in training",
}


class Figure9(base.PaperFigure):
  """Subtypes of classes: how much accuracy unseen ones cost."""

  def drawn(self, request: base.Request) -> base.Drawn:
    """The figure and its CSV."""
    rows = printed.table("hendrycks2019", "figure9")
    of = {(row.label, row.metric): row for row in rows}
    points = [
      benchmark_scatter.Point(
        label,
        metric,
        printed.number(of[label, "accuracy"]),
        printed.number(of[label, metric]),
        of[label, metric].source,
      )
      for label in dict.fromkeys(row.label for row in rows)
      for metric in _TITLES
    ]
    notes = [rows[0].source, doubt.sentences(rows)]
    panel = benchmark_scatter.panel(points, _TITLES, "accuracy on subtypes (%)")
    frame = Frame(
      *(6.4, 4.6), x="accuracy on ImageNet-1K (%)", legend=OVER, share=""
    )
    fig = scatter.draw([panel], frame, notes)
    table = sheet.Sheet(
      benchmark_scatter.COLUMNS, [point.line() for point in points]
    )
    return base.Drawn(fig, notes, table)
