"""Share of wrong frames at each signed offset from the anchor (Figure 5)."""

from __future__ import annotations

from eval.report.reports import base
from eval.report.reports.frames import k_curve
from eval.tables.context import Context
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import ABOVE, Frame

_SPACING = 0.1  # between the intervals of two models, in frames


class Offsets(base.Chart):
  """A line per model, with intervals."""

  stem = "natural_offsets"
  caption = "Error by offset"
  reading = (
    "The share of wrong frames at each distance from the anchor. Negative: before"
    " it. The whiskers are 95 % intervals."
  )
  shows = "A line chart, offset from the anchor across, wrong frames up"

  def draw(self, context: Context) -> style.Figure | None:
    curves = k_curve.breakdown_lines(context, "error", "offset", _SPACING)
    if not curves:
      return None
    frame = Frame(
      *(7, 4),
      x="offset from the anchor (frames)",
      y="wrong frames (%)",
      y_ends=(0, None),
      x_ticks=(range(-10, 11, 2), None),
      legend=ABOVE,
      entries=5,
    )
    return lines.draw([lines.Panel(curves)], frame)
