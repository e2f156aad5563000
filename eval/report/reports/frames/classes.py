"""pm-0 and pm-10 of each class, a panel per model (Figure 7)."""

from __future__ import annotations

from typing import ClassVar

from eval.cells import table
from eval.charts import spans
from eval.report.reports import base
from eval.tables import breakdowns
from eval.tables.context import Context
from robust_tfds.charts import style
from robust_tfds.charts.frame import ABOVE, Frame

_COLUMNS = 4


class Classes(base.Chart):
  """A line per class, from its pm-10 to its pm-0.

  Class attributes:
    metrics: the ends of a line.
    counted: whether the examples of a class stand behind its name.
    x: label of the x axis.
  """

  metrics: ClassVar[tuple[str, str]] = ("acc_orig", "acc_pmk")
  counted: ClassVar[bool] = True
  x: ClassVar[str] = "accuracy (%)"
  stem = "natural_classes"
  caption = "Accuracy by class"
  reading = (
    "A line a class, from its accuracy on anchors to that on every similar frame"
    " too: the longer, the more small changes cost. Behind a name: its anchors."
  )
  shows = "Accuracy of every class on anchors and on worst frames, joined"

  def draw(self, context: Context) -> style.Figure | None:
    models = [
      m for m in context.models if _class_rows(context, m, self.metrics[0])
    ]
    if not models:
      return None
    anchors, worst = (_class_rows(context, models[0], m) for m in self.metrics)
    # One order for all panels: by the first model's drop, the largest on top.
    common = [c for c in anchors if c in worst]
    order = sorted(common, key=lambda c: anchors[c].value - worst[c].value)
    names = [
      breakdowns.class_name(context, c) + f" ({anchors[c].n})" * self.counted
      for c in order
    ]
    panels = []
    for model in models:
      series = {}
      for metric in self.metrics:
        rows = _class_rows(context, model, metric)
        heading = context.facts.metric(metric).heading
        series[heading] = [style.Value(100 * rows[c].value) for c in order]
      panels.append(spans.Panel(names, series, title=model))
    columns = min(len(models), _COLUMNS)
    height = 0.22 * max(len(order), 5) + 0.9
    frame = Frame(
      1.6 + 3.2 * columns,
      height * -(-len(models) // columns),
      columns,
      x=self.x,
      x_ends=(-3, 103),
      legend=ABOVE,
      entries=2,
    )
    return spans.draw(panels, frame)


def _class_rows(
  context: Context, model: str, metric: str
) -> dict[str, table.Row]:
  return dict(breakdowns.series(context, model, metric, "class"))
