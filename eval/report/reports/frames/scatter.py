"""pm-10 against pm-0: our models, the authors' testbed, lines (Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eval.cells import table
from eval.charts import scatter
from eval.papers import testbed_kinds
from eval.report.reports import base
from eval.tables import breakdowns, numbers
from eval.tables.context import Context
from robust_tfds.charts import style
from robust_tfds.charts.frame import INSIDE, Frame

_GREY = "#999999"
# Prefix of a line's metrics; its colour, name and dashes.
_LINES = (
  ("published_trend", _GREY, "testbed's standard models", "-"),
  ("paper_trend", _GREY, "paper's table", "--"),
  ("trend", "#000000", "models", "-"),
)


class Scatter(base.Chart):
  """A point per model of ours, and small points for the testbed."""

  stem = "natural_scatter"
  caption = "Accuracy on anchors and worst frames"
  reading = (
    "A large point is a model: the further below the diagonal of equal"
    " numbers, the more it loses on similar frames. Small points: the"
    " authors' testbed."
  )
  shows = "A scatter plot, accuracy on anchors across, on worst frames up"

  def draw(self, context: Context) -> style.Figure | None:
    points = [*_testbed(_testbed_rates(context)), *_models(context)]
    x_ends, y_ends = (
      _limits([place for p in points for place in _reach(value(p))])
      for value in (lambda p: p.x, lambda p: p.y)
    )
    y_ends = y_ends[0], max(y_ends[1], x_ends[1])
    panel = scatter.Panel(points, _lines(context, x_ends))
    frame = Frame(
      *(6.5, 5.5),
      x="accuracy on anchors, pm-0 (%)",
      y="accuracy on worst frames, pm-10 (%)",
      x_ends=x_ends,
      y_ends=y_ends,
      legend=INSIDE,
    )
    return scatter.draw([panel], frame)


def _testbed(testbed: Sequence[Sequence[float]]) -> list[scatter.Point]:
  looks = {"color": _GREY, "marker": "o", "alpha": 0.5, "linewidth": 0}
  label = f"published testbed ({len(testbed)} models)"
  return [
    scatter.Point(
      *(style.Value(100 * x), style.Value(100 * y)),
      label=label,
      area=8,
      looks=looks,
    )
    for x, y in testbed
  ]


def _models(context: Context) -> list[scatter.Point]:
  out = []
  for i, model in enumerate(context.models):
    x = breakdowns.row(context, model, "acc_orig")
    y = breakdowns.row(context, model, "acc_pmk")
    if x and y:
      out.append(scatter.Point(style.scaled(x), style.scaled(y), i, model))
  return out


def _testbed_rates(context: Context, kind: str = "") -> list[Sequence[float]]:
  """Return pm-0 and pm-10 of the testbed's models, of one kind or of all."""
  kinds = testbed_kinds.kinds()
  return [
    values
    for name, values in context.networks.items()
    if len(values) == 2 and kind in ("", kinds.get(name))
  ]


def _lines(context: Context, ends: tuple[float, float]) -> list[scatter.Line]:
  """Return the line without a drop, then the fitted ones."""
  looks = {"color": _GREY, "linestyle": ":"}
  out = [scatter.Line(ends, ends, "no drop", looks)]
  for name, colour, whose, dashes in _LINES:
    line = breakdowns.line(context, name)
    if line:
      slope, intercept = line
      shown = numbers.interval_text(
        numbers.decimals, slope.value, slope.lo, slope.hi, numbers.BRACKETS
      )
      label = f"line of the {whose}: slope {shown}"
      x = np.linspace(*ends, 60)
      y = slope.value * x + 100 * intercept.value
      looks = {"color": colour, "linestyle": dashes}
      anchors = _anchors(context, name)
      band: tuple = ()
      if anchors:
        width = _half_width(x, slope, intercept, float(np.mean(anchors)))
        band = y - width, y + width
      out.append(scatter.Line(x, y, label, looks, band))
  return out


def _half_width(
  x: np.ndarray, slope: table.Row, intercept: table.Row, centre: float
) -> np.ndarray:
  """Return half the width of the line's pointwise interval at x.

  Half-widths: h_s of the slope, h_i of the intercept, and at x the root of
  h_i^2 - centre^2 h_s^2 + (x - centre)^2 h_s^2, by least squares.
  """
  slope_width = (slope.hi or 0) - slope.value
  intercept_width = 100 * ((intercept.hi or 0) - intercept.value)
  at_centre = intercept_width**2 - (centre * slope_width) ** 2
  return np.sqrt(np.maximum(at_centre + ((x - centre) * slope_width) ** 2, 0))


def _anchors(context: Context, line: str) -> list[float]:
  """Return pm-0 in % of the points that a line is fitted to; [] if unknown."""
  if line == "published_trend":
    standard = _testbed_rates(context, testbed_kinds.STANDARD)
    return [100 * x for x, _ in standard]
  if line == "trend":
    rows = [breakdowns.row(context, m, "acc_orig") for m in context.models]
    return [100 * row.value for row in rows if row]
  return []


def _reach(value: style.Value) -> list[float]:
  return [v for v in (value.value, value.lo, value.hi) if v is not None]


def _limits(values: Sequence[float]) -> tuple[float, float]:
  """Return the ends of an axis, at least ten points apart, within 0 and 100."""
  lo, hi = min(values, default=0), max(values, default=100)
  air = max(0.05 * (hi - lo), (10 - (hi - lo)) / 2)
  return max(lo - air, 0), min(hi + air, 100)
