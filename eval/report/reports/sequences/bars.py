"""Flip rate and top-5 distance of every perturbation, a bar a model."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot


class Bars(base.Report):
  """A panel a number; of sequences, at their easiest difficulty."""

  pictures = (("stability_bars.png", "Stability of every perturbation"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes stability_bars.png and .svg; nothing without perturbations."""
    names, metrics = pivot.names(context), pivot.main_details(context)
    if not names or not metrics:
      return []
    fig = style.figure(11, 2.6 * len(metrics) + 0.8)
    grid = style.axes(fig, len(metrics), 1, sharex=True)
    for ax, metric in zip(grid[:, 0], metrics):
      _panel(ax, context, metric, names)
    ticks = [n.replace("_", "\n") for n in names]
    grid[-1, 0].set_xticks(range(len(names)), ticks)
    style.legend_above(fig, grid[0, 0])
    return style.save(fig, folder, "stability_bars", context.provenance)


def _panel(
  ax: style.Axes, context: Context, metric: Metric, names: Sequence[str]
) -> None:
  for i, model in enumerate(context.models):
    _bars(ax, context, metric, names, i, model)
  ax.set_ylabel(pivot.with_unit(metric.axis or metric.heading, metric))
  if metric.normalises:  # 100 is the baseline
    ax.axhline(100, color="#333333", linewidth=0.8, linestyle=":")
  common, others = len(context.common), len(context.extra + context.own)
  style.mark_extra(ax, common, others, color="#999999", linewidth=0.8)


def _bars(
  ax: style.Axes,
  context: Context,
  metric: Metric,
  names: Sequence[str],
  index: int,
  model: str,
) -> None:
  """The bars of one model."""
  scale = 100 if metric.percent else 1
  models = len(context.models)
  positions = style.bar_positions(len(names), index, models)
  x, heights, below, above = [], [], [], []
  for position, name in zip(positions, names):
    # The easiest difficulty is the first row.
    row = pivot.row(context, model, corruption=name, metric=metric.name)
    if row is None:
      continue
    x.append(position)
    heights.append(scale * row.value)
    lo, hi = (row.value if e is None else e for e in (row.lo, row.hi))
    below.append(scale * max(0.0, row.value - lo))
    above.append(scale * max(0.0, hi - row.value))
  ax.bar(
    x,
    heights,
    style.bar_width(models),
    yerr=(below, above),
    color=style.colour(index),
    error_kw={"elinewidth": 0.8, "ecolor": "#333333"},
    label=model,
  )
