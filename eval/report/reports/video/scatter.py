"""Robustness against accuracy, a point a model, its area the multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.cells import table
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot


class Scatter(base.Report):
  """gamma_r over clean accuracy."""

  pictures = (("action_scatter.png", "Robustness against accuracy"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes action_scatter.png and .svg; nothing without a mean gamma_r."""
    points = [
      (model, clean, robust)
      for model in context.models
      if (clean := _row(context, model, "clean_accuracy"))
      and (robust := _row(context, model, "gamma_r"))
    ]
    if not points:
      return []
    fig = style.figure(6, 4.4)
    ax = style.axes(fig, 1, 1)[0, 0]
    for i, (model, clean, robust) in enumerate(points):
      area = 40 + 4 * context.gflops.get(model, 0.0)
      _point(ax, model, clean, robust, style.colour(i), area)
    ax.set_xlabel("clean accuracy (%)")
    ax.set_ylabel("relative robustness gamma_r (%)")
    ax.margins(0.15)
    return style.save(fig, folder, "action_scatter", context.provenance)


def _row(context: Context, model: str, metric: str) -> table.Row | None:
  return pivot.row(context, model, corruption="", config="", metric=metric)


def _point(
  ax: style.Axes,
  model: str,
  clean: table.Row,
  robust: table.Row,
  colour: str,
  area: float,
) -> None:
  x, y = 100 * clean.value, 100 * robust.value
  ax.errorbar(
    [x],
    [y],
    xerr=style.whiskers(clean),
    yerr=style.whiskers(robust),
    color=colour,
    elinewidth=0.8,
  )
  ax.scatter([x], [y], s=area, color=colour, alpha=0.7)
  ax.annotate(
    model,
    (x, y),
    xytext=(6, 5),
    textcoords="offset points",
    fontsize=7,
    color=colour,
  )
