"""Reliability diagrams of every model, clean and at every severity."""

from __future__ import annotations

from eval.charts import reliability
from eval.metrics import calibration
from eval.report.reports import base
from eval.tables.context import Context
from robust_tfds.charts import style


class Reliability(base.Chart):
  """Accuracy against the top score, clean and at each severity.

  A severity pools the examples of all common conditions: each example counts as
  often as it was shown, and the title says how many conditions there are.
  """

  stem = "reliability"
  caption = "Reliability"
  reading = (
    "Bars: the accuracy of the examples in a bin of the top score. Dashed: a"
    " calibrated model. Below: how many examples fall into the bin."
  )
  shows = "Reliability diagrams, top score across, accuracy up"

  def draw(self, context: Context) -> style.Figure | None:
    lines = [
      reliability.Line(model, i, panels(context, model))
      for i, model in enumerate(context.models)
    ]
    lines = [line for line in lines if line.panels]
    return reliability.draw(lines) if lines else None


def panels(context: Context, model: str) -> list[reliability.Panel]:
  """Return the diagrams of clean data and of the severities of the run."""
  cells = {
    k[1:]: bins for k, bins in context.reliability.items() if k[0] == model
  }
  out = [
    reliability.Panel("clean", bins)
    for (name, _), bins in cells.items()
    if not name
  ]
  levels = sorted({level for name, level in cells if name in context.common})
  for level in levels:
    pool = [cells[n, level] for n in context.common if (n, level) in cells]
    count, whole = len(pool), len(context.common + context.missing)
    plural = "s" * (whole != 1)
    share = "" if count == whole else f"{count} of "
    title = f"severity {level}, {share}{whole} {context.facts.noun}{plural}"
    out.append(reliability.Panel(title, calibration.pooled(pool)))
  return out
