"""Stability against accuracy: mFR over clean error, the paper's beside ours."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import style

TASKS = ("sequences",)
PICTURES = (("stability_scatter.png", "Stability against clean error"),)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes stability_scatter.png and .svg; nothing without mFR."""
  metrics = {r.metric for r in context.rows}
  metric = "mfr" if "mfr" in metrics else "mean_flip_probability"
  if metric not in metrics:
    return []
  fig = style.figure(6, 4.4)
  ax = style.axes(fig, 1, 1)[0, 0]
  if metric == "mfr":
    for name, (clean, mean) in context.networks.items():
      ax.plot(100 * clean, 100 * mean, "x", color="#888888", markersize=5)
      _label(ax, name, clean, mean, "#888888")
    if context.networks:
      ax.plot([], [], "x", color="#888888", markersize=5, label="published")
      ax.legend(loc="upper left")
  for i, model in enumerate(context.models):
    _point(ax, context, model, metric, i)
  ax.set_xlabel("clean top-1 error (%)")
  ax.set_ylabel("mFR (%)" if metric == "mfr" else "mean flip probability (%)")
  ax.margins(0.15)
  return style.save(fig, folder, "stability_scatter", context.provenance)


def _point(ax, context, model, metric, index):
  clean = _row(context, model, "clean_error")
  mean = _row(context, model, metric)
  if clean is None or mean is None:
    return
  colour = style.COLOURS[index % len(style.COLOURS)]
  ax.errorbar(
    [100 * clean.value],
    [100 * mean.value],
    xerr=_ends(clean),
    yerr=_ends(mean),
    color=colour,
    marker=style.MARKERS[index % len(style.MARKERS)],
    elinewidth=0.8,
  )
  _label(ax, model, clean.value, mean.value, colour)


def _label(ax, text, clean, mean, colour):
  ax.annotate(
    text,
    (100 * clean, 100 * mean),
    xytext=(5, 4),
    textcoords="offset points",
    fontsize=7,
    color=colour,
  )


def _row(context, model, metric):
  for r in context.rows:
    if r.model == model and r.metric == metric and not r.corruption:
      return r
  return None


def _ends(row):
  if row.lo is None or row.hi is None:
    return None
  return [
    [100 * max(0.0, row.value - row.lo)],
    [100 * max(0.0, row.hi - row.value)],
  ]
