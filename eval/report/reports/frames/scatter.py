"""pm-10 against pm-0: models, the authors' testbed, lines (Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from etils import epath

from robust_tfds.eval.cells import table
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import breakdowns

_GREY = "#999999"
# A line's metrics without `_slope` and `_intercept`; colour, whose, dashes.
_LINES = (
  ("published_trend", _GREY, "testbed", "-"),
  ("paper_trend", _GREY, "paper's table", "--"),
  ("trend", "#000000", "models", "-"),
)


class Scatter(base.Report):
  """A point a model of ours, small points for the testbed."""

  pictures = (("natural_scatter.png", "Accuracy on anchors and worst frames"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes natural_scatter.png and .svg."""
    fig = style.figure(6.5, 5.5)
    ax = style.axes(fig, 1, 1)[0, 0]
    testbed = [v for v in context.networks.values() if len(v) == 2]
    _testbed(ax, testbed)
    for i, model in enumerate(context.models):
      _point(ax, context, model, i)
    x_ends, y_ends = _limits(ax.get_xlim()), _limits(ax.get_ylim())
    ax.plot(x_ends, x_ends, color=_GREY, linestyle=":", label="no drop")
    for name, colour, whose, dashes in _LINES:
      slope = breakdowns.row(context, "", f"{name}_slope")
      intercept = breakdowns.row(context, "", f"{name}_intercept")
      if slope and intercept:
        line = _Line(slope, intercept, x_ends)
        line.draw(ax, whose, color=colour, linestyle=dashes)
        anchors = _anchors(context, name, testbed)
        if anchors:
          line.draw_band(ax, float(np.mean(anchors)), colour)
    ax.set_xlim(x_ends)
    ax.set_ylim(y_ends[0], max(y_ends[1], x_ends[1]))
    ax.set_xlabel("accuracy on anchors, pm-0 (%)")
    ax.set_ylabel("accuracy on worst frames, pm-10 (%)")
    ax.legend(fontsize=7, loc="upper left", frameon=False)
    return style.save(fig, folder, "natural_scatter", context.provenance)


class _Line:
  """A line through points, from one end of the axis to the other."""

  def __init__(
    self, slope: table.Row, intercept: table.Row, ends: tuple[float, float]
  ):
    self._slope, self._intercept, self._ends = slope, intercept, ends

  def draw(self, ax: style.Axes, whose: str, **looks: Any) -> None:
    """The line, with its slope in the legend."""
    slope = self._slope
    ax.plot(
      self._ends,
      [slope.value * x + 100 * self._intercept.value for x in self._ends],
      **looks,
      linewidth=1.2,
      label=f"line of the {whose}: slope {slope.value:.2f}"
      f" [{slope.lo:.2f}, {slope.hi:.2f}]",
    )

  def draw_band(self, ax: style.Axes, centre: float, colour: str) -> None:
    """The line's pointwise interval, from those of its slope and intercept.

    Half-widths: h_s of the slope, h_i of the intercept, and at x the root of
    h_i^2 - centre^2 h_s^2 + (x - centre)^2 h_s^2, by least squares.
    """
    slope, intercept = self._slope, self._intercept
    x = np.linspace(self._ends[0], self._ends[1], 60)
    of_slope = (slope.hi or 0) - slope.value
    of_intercept = 100 * ((intercept.hi or 0) - intercept.value)
    at_centre = of_intercept**2 - (centre * of_slope) ** 2
    width = np.sqrt(np.maximum(at_centre + ((x - centre) * of_slope) ** 2, 0))
    line = slope.value * x + 100 * intercept.value
    ax.fill_between(
      x, line - width, line + width, color=colour, alpha=0.2, linewidth=0
    )


def _testbed(ax: style.Axes, testbed: Sequence[Sequence[float]]) -> None:
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


def _anchors(
  context: Context, line: str, testbed: Sequence[Sequence[float]]
) -> list[float]:
  """pm-0 in % of the points that a line is fitted to; empty where unknown."""
  if line == "published_trend":
    return [100 * x for x, _ in testbed]
  if line == "trend":
    rows = [breakdowns.row(context, m, "acc_orig") for m in context.models]
    return [100 * row.value for row in rows if row]
  return []


def _limits(ends: tuple[float, float]) -> tuple[float, float]:
  """Ends of an axis, at least ten points apart, within 0 and 100."""
  missing = max(10 - (ends[1] - ends[0]), 0) / 2
  return max(ends[0] - missing, 0), min(ends[1] + missing, 100)


def _point(ax: style.Axes, context: Context, model: str, index: int) -> None:
  x = breakdowns.row(context, model, "acc_orig")
  y = breakdowns.row(context, model, "acc_pmk")
  if x is None or y is None:
    return
  ax.errorbar(
    [100 * x.value],
    [100 * y.value],
    xerr=style.whiskers(x),
    yerr=style.whiskers(y),
    color=style.colour(index),
    marker=style.marker(index),
    markersize=5,
    linewidth=1,
    linestyle="none",
    label=model,
    zorder=3,
  )
