"""AP of every corruption, a bar a model, its clean AP as a line."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot

# AP over the severities -> AP on clean images.
_CLEAN = {"mean_ap": "p", "segm/mean_ap": "segm/p"}


class Bars(base.Report):
  """A panel a kind of AP: of boxes, and of masks where there are any."""

  pictures = (("detection_bars.png", "AP of every corruption"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes detection_bars.png and .svg; nothing without corruptions."""
    names, metrics = pivot.names(context), pivot.details(context)
    if not names or not metrics:
      return []
    fig = style.figure(11, 2.8 * len(metrics) + 0.8)
    grid = style.axes(fig, len(metrics), 1, sharex=True)
    for ax, metric in zip(grid[:, 0], metrics):
      _panel(ax, context, metric, names)
    ticks = [n.replace("_", "\n") for n in names]
    grid[-1, 0].set_xticks(range(len(names)), ticks)
    grid[-1, 0].tick_params(axis="x", labelsize=7)
    style.legend_above(fig, grid[0, 0])
    return style.save(fig, folder, "detection_bars", context.provenance)


def _panel(
  ax: style.Axes, context: Context, metric: Metric, names: Sequence[str]
) -> None:
  models = len(context.models)
  for i, model in enumerate(context.models):
    heights = np.array(
      [pivot.by_corruption(context, model, metric.name, n) for n in names]
    )
    x = style.bar_positions(len(names), i, models)
    colour, width = style.colour(i), style.bar_width(models)
    ax.bar(x, 100 * np.nan_to_num(heights), width, color=colour, label=model)
    clean = pivot.headline(context, model, _CLEAN[metric.name])
    if not math.isnan(clean):
      ax.axhline(
        100 * clean,
        color=colour,
        linewidth=1,
        linestyle=":",
        label=f"{model}, clean",
      )
  heading = pivot.with_unit(metric.heading, metric)
  ax.set_ylabel(f"{heading}, mean over severities")
  common, others = len(context.common), len(context.extra + context.own)
  style.mark_extra(ax, common, others, color="#999999", linewidth=0.8)
