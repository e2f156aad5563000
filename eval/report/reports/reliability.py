"""Reliability diagrams of every model, clean and at every severity."""

from __future__ import annotations

from eval.charts import reliability
from eval.metrics import calibration
from eval.report.reports import base
from eval.tables.context import Context
from robust_tfds.charts import style


class Reliability(base.Chart):
  """Accuracy against the top score.

  Of a severity the examples of all common conditions are pooled: each counts as
  often as it is shown, and the panel says how many conditions that are.
  """

  stem = "reliability"
  caption = "Reliability"
  reading = (
    "Bars: the accuracy of the examples in a bin of the top score. Dashed: a"
    " calibrated model. Below: how many examples fall into the bin."
  )
  shows = "Reliability diagrams, top score across, accuracy up"

  def draw(self, context: Context) -> style.Figure | None:
    of = [
      reliability.Line(model, i, panels(context, model))
      for i, model in enumerate(context.models)
    ]
    of = [line for line in of if line.panels]
    return reliability.draw(of) if of else None


def panels(context: Context, model: str) -> list[reliability.Panel]:
  """Clean, then the common conditions of each severity; those that are there."""
  of = {k[1:]: bins for k, bins in context.reliability.items() if k[0] == model}
  out = [
    reliability.Panel("clean", bins)
    for (name, _), bins in of.items()
    if not name
  ]
  levels = sorted({level for name, level in of if name in context.common})
  for level in levels:
    cells = [of[n, level] for n in context.common if (n, level) in of]
    count, whole = len(cells), len(context.common + context.missing)
    plural = "s" * (whole != 1)
    lacking = "" if count == whole else f"{count} of "
    title = f"severity {level}, {lacking}{whole} {context.facts.noun}{plural}"
    out.append(reliability.Panel(title, calibration.pooled(cells)))
  return out
