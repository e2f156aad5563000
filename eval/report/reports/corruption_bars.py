"""Bars of every corruption: a panel a number, a bar a model."""

from __future__ import annotations

import abc

from eval.charts import bars
from eval.metrics.definitions import Metric
from eval.report.reports import base
from eval.tables import pivot
from eval.tables.context import Context
from robust_tfds.charts import style
from robust_tfds.charts.frame import ABOVE, Frame


class CorruptionBars(base.Chart):
  """A panel a number, plain ones left out that are normalised.

  Attributes:
    height: of a panel, in inches.
  """

  height: float

  def draw(self, context: Context) -> style.Figure | None:
    names, metrics = pivot.names(context), pivot.main_details(context)
    if not names or not metrics:
      return None
    words = [n.replace("_", "\n") for n in names]
    return bars.draw(
      [self.panel(context, metric) for metric in metrics],
      bars.Groups(words, common=len(context.common)),
      Frame(11, self.height * len(metrics) + 0.8, 1, legend=ABOVE, share="x"),
    )

  @abc.abstractmethod
  def panel(self, context: Context, metric: Metric) -> bars.Panel:
    """A number's: a series a model, a value a corruption."""
