"""pm-0 and pm-10 of each class, one panel a model (Figure 7)."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import natural_pivot
from eval.reports import style

TASKS = ("frames",)
PICTURES = (("natural_classes.png", "Accuracy by class"),)
_COLUMNS = 4


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes natural_classes.png and .svg: a line from pm-10 to pm-0 each."""
  shown = [
    m
    for m in context.models
    if natural_pivot.series(context, m, "acc_orig", "class")
  ]
  if not shown:
    return []
  first = natural_pivot.series(context, shown[0], "acc_orig", "class")
  # One order for all panels: by the first model's drop, the largest on top.
  perturbed = dict(natural_pivot.series(context, shown[0], "acc_pmk", "class"))
  order = sorted(
    (value for value, _ in first),
    key=lambda c: dict(first)[c].value - perturbed[c].value,
  )
  columns = min(len(shown), _COLUMNS)
  rows = -(-len(shown) // columns)
  height = 0.22 * max(len(order), 5) + 0.9
  fig = style.figure(1.6 + 3.2 * columns, height * rows)
  grid = style.axes(fig, rows, columns, sharex=True, sharey=True)
  for ax, model in zip(grid.flat, shown):
    _panel(ax, context, model, order)
  for ax in grid.flat[len(shown) :]:
    ax.set_visible(False)
  for ax in grid[:, 0]:
    sizes = {value: r.n for value, r in first}
    ax.set_yticks(
      range(len(order)),
      [f"{natural_pivot.class_name(context, c)} ({sizes[c]})" for c in order],
      fontsize=7,
    )
  for ax in grid[-1]:
    ax.set_xlabel("accuracy (%)")
  handles, labels = grid.flat[0].get_legend_handles_labels()
  fig.legend(
    handles, labels, loc="outside upper center", ncols=2, frameon=False
  )
  return style.save(fig, folder, "natural_classes", context.provenance)


def _panel(ax, context, model, order) -> None:
  ax.set_title(model, loc="left")
  found = {
    metric: dict(natural_pivot.series(context, model, metric, "class"))
    for metric in ("acc_orig", "acc_pmk")
  }
  for y, c in enumerate(order):
    ends = [100 * found[m][c].value for m in ("acc_pmk", "acc_orig")]
    ax.plot(ends, [y, y], color="#bbbbbb", linewidth=2, zorder=1)
  for metric, label, colour, marker in (
    ("acc_orig", "pm-0", style.COLOURS[0], "o"),
    ("acc_pmk", "pm-10", style.COLOURS[1], "D"),
  ):
    ax.scatter(
      [100 * found[metric][c].value for c in order],
      range(len(order)),
      s=14,
      color=colour,
      marker=marker,
      label=label,
      zorder=2,
    )
  ax.set_xlim(-3, 103)
