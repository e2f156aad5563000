"""Accuracy against severity, one panel a perturbation, one line a model."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base

_COLUMNS = 6


class Curves(base.Report):
  """Accuracy with its intervals."""

  pictures = (("action_curves.png", "Accuracy against severity"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
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
    style.legend_above(fig, grid[0, 0], title=context.title)
    return style.save(fig, folder, "action_curves", context.provenance)


def _panel(ax: style.Axes, context: Context, name: str) -> None:
  title = f"{style.words(name)}\n{context.group(name)}"
  ax.set_title(title, loc="left", fontsize=8)
  for i, model in enumerate(context.models):
    rows = [
      r
      for r in context.rows
      if r.model == model
      and r.metric == "accuracy"
      and (r.corruption == name or not r.corruption)
    ]
    style.curve(ax, rows, i, model)
