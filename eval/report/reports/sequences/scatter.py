"""Stability against accuracy: mFR over clean error, the paper's beside ours."""

from __future__ import annotations

from eval.charts import scatter
from eval.report.reports import base
from eval.tables import pivot
from eval.tables.context import Context
from robust_tfds.charts import style
from robust_tfds.charts.frame import INSIDE, Frame

_MFR, _PLAIN = "mfr", "mean_flip_probability"
_LABELS = {_MFR: "mFR (%)", _PLAIN: "mean flip probability (%)"}
_GREY = "#888888"


class Scatter(base.Chart):
  """A point per model: mFR, or the plain mean if nothing is normalised."""

  stem = "stability_scatter"
  caption = "Stability against clean error"
  reading = (
    "A point is a model: further down it flips less, further left it errs"
    " less. Crosses: networks that the paper prints."
  )
  shows = "A scatter plot, clean error across, flips up"

  def draw(self, context: Context) -> style.Figure | None:
    present = {r.metric for r in context.rows}
    metric = _MFR if _MFR in present else _PLAIN
    if metric not in present:
      return None
    points = _networks(context) if metric == _MFR else []
    for i, model in enumerate(context.models):
      clean = pivot.row(context, model, corruption="", metric="clean_error")
      mean = pivot.row(context, model, corruption="", metric=metric)
      if clean and mean:
        at = style.scaled(clean), style.scaled(mean)
        points.append(scatter.Point(*at, i, name=model))
    frame = Frame(
      *(6, 4.4), x="clean top-1 error (%)", y=_LABELS[metric], legend=INSIDE
    )
    panel = scatter.Panel(points, margins=(0.15, 0.15))
    return scatter.draw([panel], frame)


def _networks(context: Context) -> list[scatter.Point]:
  return [
    scatter.Point(
      style.Value(100 * clean),
      style.Value(100 * mean),
      label="published",
      name=name,
      looks={"marker": "x", "color": _GREY, "ink": _GREY},
    )
    for name, (clean, mean) in context.networks.items()
  ]
