"""Pixel distances between similar frames and their anchors (Appendix F)."""

from __future__ import annotations

from collections.abc import Sequence

from eval.cells import table
from eval.report.reports import base
from eval.tables import breakdowns
from eval.tables.context import Context
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import INSIDE, Frame

_METRIC = "linf_cdf"
_ALL = {"color": "#000000", "linestyle": "--", "marker": ""}


class Distances(base.Chart):
  """Distributions over all frames, and over the frames that each model gets wrong."""

  stem = "natural_distances"
  caption = "Pixel distance from the anchor"
  reading = (
    "The share of frames that differ from their anchor by at most this much:"
    " all frames, and those that each model gets wrong."
  )
  shows = "Cumulative distributions, distance across, share of frames up"

  def draw(self, context: Context) -> style.Figure | None:
    # The distribution of all frames is the same for every model.
    pairs = (_series(context, m, "pairs") for m in context.models)
    every = next(filter(None, pairs), None)
    if not every:
      return None
    curves = [_line(f"all pairs ({every[0][1].n})", every, 0, _ALL)]
    for i, model in enumerate(context.models):
      mistakes = _series(context, model, "mistakes")
      if mistakes:
        label = f"{model}, mistakes ({mistakes[0][1].n})"
        curves.append(_line(label, mistakes, i, {}))
    frame = Frame(
      *(6.5, 4),
      x="l-infinity distance from the anchor (1: black against white)",
      y="share of frames (%)",
      x_ends=(0, 1),
      y_ends=(0, 102),
      legend=INSIDE,
    )
    return lines.draw([lines.Panel(curves)], frame)


def _series(
  context: Context, model: str, frames: str
) -> Sequence[tuple[str, table.Row]]:
  return breakdowns.series(context, model, _METRIC, frames)


def _line(
  label: str, pairs: Sequence[tuple[str, table.Row]], index: int, looks: dict
) -> lines.Line:
  x = [float(distance) for distance, _ in pairs]
  values = [style.Value(100 * row.value) for _, row in pairs]
  return lines.Line(label, x, values, index, looks=looks)
