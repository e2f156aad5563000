"""Accuracy against severity, one panel a perturbation, one line a model."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import style

TASKS = ("video",)
PICTURES = (("action_curves.png", "Accuracy against severity"),)
_COLUMNS = 6


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes action_curves.png and .svg; nothing without perturbations."""
  names = list(context.corruptions)
  if not names:
    return []
  rows = -(-len(names) // _COLUMNS)
  fig = style.figure(12, 2.0 * rows + 0.8)
  grid = style.axes(fig, rows, _COLUMNS, sharex=True, sharey=True)
  for ax, name in zip(grid.flat, names):
    _panel(ax, context, name)
  for ax in grid.flat[len(names) :]:
    ax.set_visible(False)
  grid[0, 0].set_ylim(0, 102)
  for ax in grid[:, 0]:
    ax.set_ylabel("accuracy (%)")
  handles, labels = grid.flat[0].get_legend_handles_labels()
  fig.legend(
    handles, labels, loc="outside upper center", ncols=min(len(labels), 6)
  )
  return style.save(fig, folder, "action_curves", context.provenance)


def _panel(ax, context, name):
  group = context.groups[name]
  ax.set_title(f"{name.replace('_', ' ')}\n{group}", loc="left", fontsize=8)
  for i, model in enumerate(context.models):
    rows = [
      r
      for r in context.rows
      if r.model == model
      and r.metric == "accuracy"
      and (r.corruption == name or not r.corruption)
    ]
    style.curve(ax, rows, i, model)
