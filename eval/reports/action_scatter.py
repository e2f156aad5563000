"""Robustness against accuracy, a point a model, its area the multiply-adds."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import style

TASKS = ("video",)
PICTURES = (("action_scatter.png", "Robustness against accuracy"),)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes action_scatter.png and .svg; nothing without a mean gamma_r."""
  points = {}
  for model in context.models:
    own = {
      r.metric: r
      for r in context.rows
      if r.model == model and not r.corruption and not r.config
    }
    if "gamma_r" in own and "clean_accuracy" in own:
      points[model] = own["clean_accuracy"], own["gamma_r"]
  if not points:
    return []
  fig = style.figure(6, 4.4)
  ax = style.axes(fig, 1, 1)[0, 0]
  for i, (model, (clean, robust)) in enumerate(points.items()):
    colour = style.COLOURS[i % len(style.COLOURS)]
    ax.errorbar(
      [100 * clean.value],
      [100 * robust.value],
      xerr=_ends(clean),
      yerr=_ends(robust),
      color=colour,
      elinewidth=0.8,
    )
    ax.scatter(
      [100 * clean.value],
      [100 * robust.value],
      s=40 + 4 * context.gflops.get(model, 0.0),
      color=colour,
      alpha=0.7,
    )
    ax.annotate(
      model,
      (100 * clean.value, 100 * robust.value),
      xytext=(6, 5),
      textcoords="offset points",
      fontsize=7,
      color=colour,
    )
  ax.set_xlabel("clean accuracy (%)")
  ax.set_ylabel("relative robustness gamma_r (%)")
  ax.margins(0.15)
  return style.save(fig, folder, "action_scatter", context.provenance)


def _ends(row):
  if row.lo is None or row.hi is None:
    return None
  return [
    [100 * max(0.0, row.value - row.lo)],
    [100 * max(0.0, row.hi - row.value)],
  ]
