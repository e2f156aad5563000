"""How far accuracy drops under every perturbation, a bar a model (Figure 3)."""

from __future__ import annotations

from eval.charts import bars
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables import pivot
from eval.tables.context import Context
from robust_tfds.charts import style
from robust_tfds.charts.frame import ABOVE, Frame

_NONE = style.Value(float("nan"))


class Drops(base.Chart):
  """Clean accuracy less the mean over the run's severities: 1 - gamma_a.

  With the bootstrap interval of gamma_a.
  """

  stem = "action_drops"

  def draw(self, context: Context) -> style.Figure | None:
    rows = {
      (m, n): pivot.row(context, m, corruption=n, config="", metric="gamma_a")
      for m in context.models
      for n in context.corruptions
    }
    names = [
      n for n in context.corruptions if any(rows[m, n] for m in context.models)
    ]
    if not names:
      return None
    series = [
      bars.Series(
        m,
        [
          style.scaled(row, -100, 100) if (row := rows[m, n]) else _NONE
          for n in names
        ],
      )
      for m in context.models
    ]
    groups = bars.Groups(
      [definitions.words(n) for n in names],
      [context.group(n) for n in names],
      slant=True,
    )
    width = max(5.0, 0.62 * len(names) + 1.5)
    frame = Frame(width, 4.1, y="accuracy lost (points)", legend=ABOVE)
    return bars.draw([bars.Panel(series)], groups, frame)
