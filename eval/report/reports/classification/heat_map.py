"""Models x corruptions: mean error over the severities as colours and numbers."""

from __future__ import annotations

import numpy as np

from eval.charts import heat_map
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables import pivot
from eval.tables.context import Context
from robust_tfds.charts import style


class HeatMap(base.Chart):
  """A line a model, a column a corruption, the extra ones on the right."""

  stem = "heat_map"

  def draw(self, context: Context) -> style.Figure | None:
    names, models = pivot.names(context), context.models
    errors = np.array(
      [
        [100 * pivot.by_corruption(context, m, "mean_error", n) for n in names]
        for m in models
      ]
    )
    if np.isnan(errors).all():  # no corruption has all its severities
      return None
    one = heat_map.Map(
      errors,
      "Mean top-1 error over severities (%); extra ones on the right",
      models,
      [definitions.words(n) for n in names],
      divide=len(context.common),
    )
    return heat_map.draw(
      [[one]],
      (2.5 + 0.5 * len(names), 2.2 + 0.35 * len(models)),
      "%",
      most=float(np.nanmax(errors)),
      digits=0,
      cmap="cividis",
      aspect="auto",
    )
