"""pm-10 against pm-0: models, the authors' testbed, lines (Figure 3)."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

from eval import reports
from eval.reports import natural_pivot
from eval.reports import style

TASKS = ("frames",)
PICTURES = (("natural_scatter.png", "Accuracy on anchors and worst frames"),)
_GREY = "#999999"
_LINES = (
  ("published_trend", _GREY, "testbed", "-"),
  ("paper_trend", _GREY, "paper's table", "--"),
  ("trend", "#000000", "models", "-"),
)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes natural_scatter.png and .svg."""
  fig = style.figure(6.5, 5.5)
  ax = style.axes(fig, 1, 1)[0, 0]
  testbed = [v for v in context.networks.values() if len(v) == 2]
  if testbed:
    x, y = zip(*testbed)
    ax.scatter(
      [100 * v for v in x],
      [100 * v for v in y],
      s=8,
      color=_GREY,
      alpha=0.5,
      linewidth=0,
      label=f"published testbed ({len(testbed)} models)",
    )
  for i, model in enumerate(context.models):
    _point(ax, context, model, i)
  x_ends, y_ends = _limits(ax.get_xlim()), _limits(ax.get_ylim())
  ax.plot(x_ends, x_ends, color=_GREY, linestyle=":", label="no drop")
  means = {
    "published_trend": [100 * x for x, _ in testbed],
    "trend": [
      100 * row.value
      for m in context.models
      if (row := natural_pivot.row(context, m, "acc_orig"))
    ],
  }
  for name, colour, said, dashes in _LINES:
    _line(ax, context, name, said, x_ends, color=colour, linestyle=dashes)
    if means.get(name):
      centre = float(np.mean(means[name]))
      _band(ax, context, name, x_ends, centre, color=colour)
  ax.set_xlim(x_ends)
  ax.set_ylim(y_ends[0], max(y_ends[1], x_ends[1]))
  ax.set_xlabel("accuracy on anchors, pm-0 (%)")
  ax.set_ylabel("accuracy on worst frames, pm-10 (%)")
  ax.legend(fontsize=7, loc="upper left", frameon=False)
  return style.save(fig, folder, "natural_scatter", context.provenance)


def _limits(ends: tuple[float, float]) -> tuple[float, float]:
  """Ends of an axis, at least ten points apart, within 0 and 100."""
  missing = max(10 - (ends[1] - ends[0]), 0) / 2
  return max(ends[0] - missing, 0), min(ends[1] + missing, 100)


def _point(ax: Any, context: reports.Context, model: str, index: int) -> None:
  x = natural_pivot.row(context, model, "acc_orig")
  y = natural_pivot.row(context, model, "acc_pmk")
  if x is None or y is None:
    return
  ax.errorbar(
    [100 * x.value],
    [100 * y.value],
    xerr=_bars(x),
    yerr=_bars(y),
    color=natural_pivot.colour(index),
    marker=natural_pivot.marker(index),
    markersize=5,
    linewidth=1,
    linestyle="none",
    label=model,
    zorder=3,
  )


def _bars(row: Any) -> list[list[float]]:
  return [[100 * (row.value - row.lo)], [100 * (row.hi - row.value)]]


def _line(ax, context, name, said, ends, **looks) -> None:
  slope = natural_pivot.row(context, "", f"{name}_slope")
  intercept = natural_pivot.row(context, "", f"{name}_intercept")
  if slope is None or intercept is None:
    return
  ax.plot(
    ends,
    [slope.value * x + 100 * intercept.value for x in ends],
    **looks,
    linewidth=1.2,
    label=f"line of the {said}: slope {slope.value:.2f}"
    f" [{slope.lo:.2f}, {slope.hi:.2f}]",
  )


def _band(ax, context, name, ends, centre, color) -> None:
  """The line's pointwise interval, from those of its slope and intercept.

  Half-widths: h_s of the slope, h_i of the intercept, and at x the root of
  h_i^2 - centre^2 h_s^2 + (x - centre)^2 h_s^2, by least squares.
  """
  slope = natural_pivot.row(context, "", f"{name}_slope")
  intercept = natural_pivot.row(context, "", f"{name}_intercept")
  if slope is None or intercept is None:
    return
  x = np.linspace(ends[0], ends[1], 60)
  of_slope = (slope.hi or 0) - slope.value
  of_intercept = 100 * ((intercept.hi or 0) - intercept.value)
  at_centre = of_intercept**2 - (centre * of_slope) ** 2
  width = np.sqrt(np.maximum(at_centre + ((x - centre) * of_slope) ** 2, 0))
  line = slope.value * x + 100 * intercept.value
  ax.fill_between(
    x, line - width, line + width, color=color, alpha=0.2, linewidth=0
  )
