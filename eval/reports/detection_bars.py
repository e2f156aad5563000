"""AP of every corruption, a bar a model, its clean AP as a line."""

from __future__ import annotations

import math
import pathlib

import numpy as np

from eval import reports
from eval.reports import pivot
from eval.reports import style

TASKS = ("detection",)
PICTURES = (("detection_bars.png", "AP of every corruption"),)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes detection_bars.png and .svg; nothing without corruptions."""
  names = [*pivot.common(context), *pivot.extra(context)]
  shown = pivot.details(context)
  if not names or not shown:
    return []
  fig = style.figure(11, 2.8 * len(shown) + 0.8)
  grid = style.axes(fig, len(shown), 1, sharex=True)
  for ax, (metric, label) in zip(grid[:, 0], shown):
    _panel(ax, context, metric, names)
    ax.set_ylabel(f"{label} (%), mean over severities")
  grid[-1, 0].set_xticks(
    range(len(names)), [n.replace("_", "\n") for n in names]
  )
  grid[-1, 0].tick_params(axis="x", labelsize=7)
  handles, labels = grid[0, 0].get_legend_handles_labels()
  fig.legend(
    handles, labels, loc="outside upper center", ncols=min(len(labels), 6)
  )
  return style.save(fig, folder, "detection_bars", context.provenance)


def _panel(ax, context, metric, names):
  width = 0.8 / len(context.models)
  prefix = metric.removesuffix("mean_ap")
  for i, model in enumerate(context.models):
    heights = np.array(
      [pivot.by_corruption(context, model, metric, n) for n in names]
    )
    x = np.arange(len(names)) + (i - (len(context.models) - 1) / 2) * width
    colour = style.COLOURS[i % len(style.COLOURS)]
    ax.bar(x, 100 * np.nan_to_num(heights), width, color=colour, label=model)
    clean = pivot.headline(context, model, f"{prefix}p")
    if not math.isnan(clean):
      ax.axhline(
        100 * clean,
        color=colour,
        linewidth=1,
        linestyle=":",
        label=f"{model}, clean",
      )
  border = len(pivot.common(context)) - 0.5
  if pivot.extra(context) and border > 0:
    ax.axvline(border, color="#999999", linewidth=0.8)
