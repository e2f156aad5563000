"""Error against severity, one panel a corruption, one line a model."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot

_COLUMNS = 5


class SeverityCurves(base.Report):
  """Top-1 error with its intervals."""

  pictures = (("severity_curves.png", "Error against severity"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes severity_curves.png and .svg; nothing without corruptions."""
    names = pivot.names(context)
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
    style.legend_above(fig, grid[0, 0])
    return style.save(fig, folder, "severity_curves", context.provenance)


def _panel(ax: style.Axes, context: Context, name: str) -> None:
  kind = "" if name in context.common else ", extra"
  title = f"{style.words(name)}\n{context.group(name)}{kind}"
  ax.set_title(title, loc="left", fontsize=8)
  for i, model in enumerate(context.models):
    rows = [
      r
      for r in context.rows
      if r.model == model
      and r.metric == "error"
      and (r.corruption == name or (not r.corruption and r.severity == 0))
    ]
    style.curve(ax, rows, i, model)
