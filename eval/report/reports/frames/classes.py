"""pm-0 and pm-10 of each class, one panel a model (Figure 7)."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.cells import table
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import breakdowns

_COLUMNS = 4
# Metric, colour, marker.
_ENDS = (
  ("acc_orig", style.COLOURS[0], "o"),
  ("acc_pmk", style.COLOURS[1], "D"),
)


class Classes(base.Report):
  """A line a class, from its pm-10 to its pm-0."""

  pictures = (("natural_classes.png", "Accuracy by class"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes natural_classes.png and .svg; nothing without classes."""
    models = [m for m in context.models if _by_class(context, m, "acc_orig")]
    if not models:
      return []
    anchors = _by_class(context, models[0], "acc_orig")
    order = _order(anchors, _by_class(context, models[0], "acc_pmk"))
    columns = min(len(models), _COLUMNS)
    rows = -(-len(models) // columns)
    height = 0.22 * max(len(order), 5) + 0.9
    fig = style.figure(1.6 + 3.2 * columns, height * rows)
    grid = style.axes(fig, rows, columns, sharex=True, sharey=True)
    for ax, model in zip(grid.flat, models):
      _panel(ax, context, model, order)
    for ax in grid.flat[len(models) :]:
      ax.set_visible(False)
    names = [
      f"{breakdowns.class_name(context, c)} ({anchors[c].n})" for c in order
    ]
    for ax in grid[:, 0]:
      ax.set_yticks(range(len(order)), names, fontsize=7)
    for ax in grid[-1]:
      ax.set_xlabel("accuracy (%)")
    style.legend_above(fig, grid[0, 0], columns=2)
    return style.save(fig, folder, "natural_classes", context.provenance)


def _by_class(
  context: Context, model: str, metric: str
) -> dict[str, table.Row]:
  return dict(breakdowns.series(context, model, metric, "class"))


def _order(
  anchors: dict[str, table.Row], worst: dict[str, table.Row]
) -> list[str]:
  """One order for all panels: by the first model's drop, the largest on top."""
  return sorted(anchors, key=lambda c: anchors[c].value - worst[c].value)


def _panel(
  ax: style.Axes, context: Context, model: str, order: Sequence[str]
) -> None:
  ax.set_title(model, loc="left")
  rows = {m: _by_class(context, model, m) for m, _, _ in _ENDS}
  for y, c in enumerate(order):
    ends = [100 * rows[m][c].value for m in ("acc_pmk", "acc_orig")]
    ax.plot(ends, [y, y], color="#bbbbbb", linewidth=2, zorder=1)
  for metric, colour, marker in _ENDS:
    ax.scatter(
      [100 * rows[metric][c].value for c in order],
      range(len(order)),
      s=14,
      color=colour,
      marker=marker,
      label=context.facts.metric(metric).heading,
      zorder=2,
    )
  ax.set_xlim(-3, 103)
