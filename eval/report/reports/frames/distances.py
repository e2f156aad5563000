"""How far similar frames are from their anchors in pixels (Appendix F)."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.cells import table
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import breakdowns

_METRIC = "linf_cdf"
Series = Sequence[tuple[str, table.Row]]


class Distances(base.Report):
  """Distribution of all frames, and of those that each model gets wrong."""

  pictures = (("natural_distances.png", "Pixel distances from the anchor"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes natural_distances.png and .svg; nothing where none are known."""
    pairs = _all_pairs(context)
    if not pairs:
      return []
    fig = style.figure(6.5, 4)
    ax = style.axes(fig, 1, 1)[0, 0]
    _curve(ax, pairs, f"all pairs ({pairs[0][1].n})", "#000000", "--", "")
    for i, model in enumerate(context.models):
      mistakes = breakdowns.series(context, model, _METRIC, "mistakes")
      if mistakes:
        label = f"{model}, mistakes ({mistakes[0][1].n})"
        _curve(ax, mistakes, label, style.colour(i), "-", style.marker(i))
    ax.set_xlabel(
      "l-infinity distance from the anchor (1: black against white)"
    )
    ax.set_ylabel("share of frames (%)")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 102)
    ax.legend(fontsize=7, frameon=False)
    return style.save(fig, folder, "natural_distances", context.provenance)


def _all_pairs(context: Context) -> Series:
  """Of all frames: the same for every model, so of the first that has it."""
  for model in context.models:
    series = breakdowns.series(context, model, _METRIC, "pairs")
    if series:
      return series
  return []


def _curve(
  ax: style.Axes,
  series: Series,
  label: str,
  colour: str,
  dashes: str,
  marker: str,
) -> None:
  ax.plot(
    [float(distance) for distance, _ in series],
    [100 * r.value for _, r in series],
    color=colour,
    linestyle=dashes,
    marker=marker,
    markersize=3,
    linewidth=1.2,
    label=label,
  )
