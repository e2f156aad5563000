"""Accuracy at every k (Figure 11), and at exactly k (Appendix E)."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import breakdowns

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


class KCurve(base.Report):
  """A line a model."""

  pictures = (("natural_k_curve.png", "Accuracy by distance"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes natural_k_curve.png and .svg."""
    fig = style.figure(10, 4.2)
    grid = style.axes(fig, 1, 2, sharey=True)
    for ax, (metric, breakdown, title, label) in zip(grid[0], _PANELS):
      ax.set_title(title, loc="left")
      ax.set_xlabel(label)
      ax.set_xticks(range(11))
      for i, model in enumerate(context.models):
        series = breakdowns.series(context, model, metric, breakdown)
        x = [int(value) for value, _ in series]
        style.band(ax, x, [r for _, r in series], i, model)
    grid[0, 0].set_ylabel("accuracy (%)")
    style.legend_above(fig, grid[0, 0], columns=5)
    return style.save(fig, folder, "natural_k_curve", context.provenance)
