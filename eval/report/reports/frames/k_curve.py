"""Accuracy at every k (Figure 11), and at exactly k (Appendix E)."""

from __future__ import annotations

from eval.report.reports import base
from eval.tables import breakdowns
from eval.tables.context import Context
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import ABOVE, Frame

# Metric, breakdown, title, words at the axis.
_PANELS = (
  ("acc_pmk", "k", "pm-k: right on all frames within k", "k (frames)"),
  (
    "conditional",
    "distance",
    "right at exactly this distance, given a right anchor",
    "distance (frames)",
  ),
)


class KCurve(base.Chart):
  """A line per model, over k and over the distance."""

  stem = "natural_k_curve"
  caption = "Accuracy by distance"
  reading = (
    "Left: right on all frames at most k away from the anchor. Right: right at"
    " exactly this distance. The areas are 95 % intervals."
  )
  shows = "Two line charts, frames across, accuracy up"

  def draw(self, context: Context) -> style.Figure | None:
    panels = [
      lines.Panel(curves, title=title, x=words)
      for metric, breakdown, title, words in _PANELS
      if (curves := breakdown_lines(context, metric, breakdown))
    ]
    if not panels:
      return None
    ticks = (range(11), None)
    frame = Frame(
      *(10, 4.2),
      y="accuracy (%)",
      x_ticks=ticks,
      legend=ABOVE,
      entries=5,
      share="y",
    )
    return lines.draw(panels, frame)


def breakdown_lines(
  context: Context, metric: str, breakdown: str, spacing: float = 0
) -> list[lines.Line]:
  """Return a line over the values of a breakdown, per model that has any.

  Args:
    spacing: between the whiskers of two models; 0: intervals are bands.
  """
  out = []
  for i, model in enumerate(context.models):
    pairs = breakdowns.series(context, model, metric, breakdown)
    shift = spacing * (i - (len(context.models) - 1) / 2)
    x = [float(value) + shift for value, _ in pairs]
    values = [style.scaled(row) for _, row in pairs]
    if values:
      out.append(lines.Line(model, x, values, i, whiskers=bool(spacing)))
  return out
