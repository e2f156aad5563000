"""How far accuracy drops under every perturbation, a bar a model (Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds.eval.cells import table
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base


class Drops(base.Report):
  """Clean accuracy less the mean over the run's severities: 1 - gamma_a.

  With the bootstrap interval of gamma_a.
  """

  pictures = (
    ("action_drops.png", "Drop of accuracy under every perturbation"),
  )

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes action_drops.png and .svg; nothing without perturbations."""
    rows = {
      (r.model, r.corruption): r
      for r in context.rows
      if r.metric == "gamma_a" and r.corruption and not r.config
    }
    names = [n for n in context.corruptions if any(n == c for _, c in rows)]
    if not names:
      return []
    fig = style.figure(max(5.0, 0.62 * len(names) + 1.5), 3.8)
    ax = style.axes(fig, 1, 1)[0, 0]
    for i, model in enumerate(context.models):
      by_name = {n: rows[model, n] for n in names if (model, n) in rows}
      _bars(ax, context, names, by_name, i)
    style.head_groups(ax, [context.group(n) for n in names])
    ax.axhline(0, color="#444444", linewidth=0.8)
    ticks = [style.words(n) for n in names]
    ax.set_xticks(range(len(names)), ticks, rotation=40, ha="right", fontsize=7)
    ax.set_ylabel("accuracy lost (points)")
    ax.legend(
      loc="upper left",
      bbox_to_anchor=(0, 1.17),
      ncols=4,
      fontsize=7,
      frameon=False,
    )
    return style.save(fig, folder, "action_drops", context.provenance)


def _bars(
  ax: style.Axes,
  context: Context,
  names: Sequence[str],
  rows: dict[str, table.Row],
  index: int,
) -> None:
  """The bars of one model, of the perturbations that it has."""
  models = len(context.models)
  positions = style.bar_positions(len(names), index, models)
  drops = np.array([100 * (1 - r.value) for r in rows.values()])
  ends = np.array(
    [[100 * (1 - (r.hi or 0)), 100 * (1 - (r.lo or 0))] for r in rows.values()]
  )
  ax.bar(
    [position for position, n in zip(positions, names) if n in rows],
    drops,
    style.bar_width(models),
    yerr=np.maximum(np.abs(ends.T - drops), 0) if rows else None,
    color=style.colour(index),
    hatch=style.hatch(index),
    edgecolor="white",
    linewidth=0.4,
    error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
    label=context.models[index],
  )
