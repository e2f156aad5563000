"""Stability against accuracy: mFR over clean error, the paper's beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot

_MFR, _PLAIN = "mfr", "mean_flip_probability"
_LABELS = {_MFR: "mFR (%)", _PLAIN: "mean flip probability (%)"}
_GREY = "#888888"


class Scatter(base.Report):
  """A point a model; where nothing is normalised, the plain mean."""

  pictures = (("stability_scatter.png", "Stability against clean error"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes stability_scatter.png and .svg; nothing without a mean."""
    present = {r.metric for r in context.rows}
    metric = _MFR if _MFR in present else _PLAIN
    if metric not in present:
      return []
    fig = style.figure(6, 4.4)
    ax = style.axes(fig, 1, 1)[0, 0]
    if metric == _MFR:
      _networks(ax, context)
    for i, model in enumerate(context.models):
      _point(ax, context, model, metric, i)
    ax.set_xlabel("clean top-1 error (%)")
    ax.set_ylabel(_LABELS[metric])
    ax.margins(0.15)
    return style.save(fig, folder, "stability_scatter", context.provenance)


def _networks(ax: style.Axes, context: Context) -> None:
  """The paper's networks."""
  for name, (clean, mean) in context.networks.items():
    ax.plot(100 * clean, 100 * mean, "x", color=_GREY, markersize=5)
    _label(ax, name, clean, mean, _GREY)
  if context.networks:
    ax.plot([], [], "x", color=_GREY, markersize=5, label="published")
    ax.legend(loc="upper left")


def _point(
  ax: style.Axes, context: Context, model: str, metric: str, index: int
) -> None:
  clean = pivot.row(context, model, corruption="", metric="clean_error")
  mean = pivot.row(context, model, corruption="", metric=metric)
  if clean is None or mean is None:
    return
  ax.errorbar(
    [100 * clean.value],
    [100 * mean.value],
    xerr=style.whiskers(clean),
    yerr=style.whiskers(mean),
    color=style.colour(index),
    marker=style.marker(index),
    elinewidth=0.8,
  )
  _label(ax, model, clean.value, mean.value, style.colour(index))


def _label(
  ax: style.Axes, text: str, clean: float, mean: float, colour: str
) -> None:
  ax.annotate(
    text,
    (100 * clean, 100 * mean),
    xytext=(5, 4),
    textcoords="offset points",
    fontsize=7,
    color=colour,
  )
