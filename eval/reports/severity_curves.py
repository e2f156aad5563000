"""Error against severity, one panel a corruption, one line a model."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import pivot
from eval.reports import style

TASKS = ("classification",)
PICTURES = (("severity_curves.png", "Error against severity"),)
_COLUMNS = 5


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes severity_curves.png and .svg; nothing without corruptions."""
  names = [*pivot.common(context), *pivot.extra(context)]
  if not names:
    return []
  rows = -(-len(names) // _COLUMNS)
  fig = style.figure(11, 2.1 * rows + 0.8)
  grid = style.axes(fig, rows, _COLUMNS, sharex=True, sharey=True)
  for ax, name in zip(grid.flat, names):
    _panel(ax, context, name)
  highest = max(r.hi or 0.0 for r in context.rows if r.metric == "error")
  grid[0, 0].set_ylim(0, 100 * highest)
  for ax in grid.flat[len(names) :]:
    ax.set_visible(False)
  for ax in grid[:, 0]:
    ax.set_ylabel("top-1 error (%)")
  handles, labels = grid.flat[0].get_legend_handles_labels()
  fig.legend(
    handles, labels, loc="outside upper center", ncols=min(len(labels), 6)
  )
  return style.save(fig, folder, "severity_curves", context.provenance)


def _panel(ax, context, name):
  group = context.groups[name]
  kind = "" if name in context.common else ", extra"
  ax.set_title(
    f"{name.replace('_', ' ')}\n{group}{kind}", loc="left", fontsize=8
  )
  for i, model in enumerate(context.models):
    rows = [
      r
      for r in context.rows
      if r.model == model
      and r.metric == "error"
      and (r.corruption == name or (not r.corruption and r.severity == 0))
    ]
    style.curve(ax, rows, i, model)
