"""Accuracy at every k (Figure 11), and at exactly k (Appendix E)."""

from __future__ import annotations

import pathlib
from typing import Any

from eval import reports
from eval.reports import natural_pivot
from eval.reports import style

TASKS = ("frames",)
PICTURES = (("natural_k_curve.png", "Accuracy by distance"),)
_PANELS = (
  ("acc_pmk", "k", "pm-k: right on all frames within k", "k (frames)"),
  (
    "conditional",
    "distance",
    "right at exactly this distance, given a right anchor",
    "distance (frames)",
  ),
)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes natural_k_curve.png and .svg."""
  fig = style.figure(10, 4.2)
  grid = style.axes(fig, 1, 2, sharey=True)
  for ax, (metric, what, title, label) in zip(grid[0], _PANELS):
    ax.set_title(title, loc="left")
    ax.set_xlabel(label)
    ax.set_xticks(range(11))
    for i, model in enumerate(context.models):
      _curve(ax, context, model, i, metric, what)
  grid[0, 0].set_ylabel("accuracy (%)")
  handles, labels = grid[0, 0].get_legend_handles_labels()
  fig.legend(
    handles, labels, loc="outside upper center", ncols=5, frameon=False
  )
  return style.save(fig, folder, "natural_k_curve", context.provenance)


def _curve(ax: Any, context, model: str, index: int, metric, what) -> None:
  found = natural_pivot.series(context, model, metric, what)
  x = [int(value) for value, _ in found]
  colour = natural_pivot.colour(index)
  ax.plot(
    x,
    [100 * r.value for _, r in found],
    color=colour,
    marker=natural_pivot.marker(index),
    markersize=3,
    linewidth=1.2,
    label=model,
  )
  ax.fill_between(
    x,
    [100 * (r.lo or 0.0) for _, r in found],
    [100 * (r.hi or 0.0) for _, r in found],
    color=colour,
    alpha=0.15,
    linewidth=0,
  )
