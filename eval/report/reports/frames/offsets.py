"""Share of wrong frames at each signed offset from the anchor (Figure 5)."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import breakdowns

_SIDEWAYS = 0.1  # between the intervals of two models, in frames


class Offsets(base.Report):
  """A line a model, with intervals."""

  pictures = (("natural_offsets.png", "Errors by offset"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes natural_offsets.png and .svg."""
    fig = style.figure(7, 4)
    ax = style.axes(fig, 1, 1)[0, 0]
    for i, model in enumerate(context.models):
      _curve(ax, context, model, i)
    ax.axvline(0, color="#999999", linewidth=0.8, linestyle=":")
    ax.set_ylim(bottom=0)
    ax.set_xticks(range(-10, 11, 2))
    ax.set_xlabel("offset from the anchor (frames)")
    ax.set_ylabel("wrong frames (%)")
    fig.legend(fontsize=7, loc="outside upper center", ncols=5, frameon=False)
    return style.save(fig, folder, "natural_offsets", context.provenance)


def _curve(ax: style.Axes, context: Context, model: str, index: int) -> None:
  series = breakdowns.series(context, model, "error", "offset")
  sideways = _SIDEWAYS * (index - (len(context.models) - 1) / 2)
  ax.errorbar(
    [int(offset) + sideways for offset, _ in series],
    [100 * r.value for _, r in series],
    yerr=[
      [100 * (r.value - (r.lo or 0.0)) for _, r in series],
      [100 * ((r.hi or 0.0) - r.value) for _, r in series],
    ],
    color=style.colour(index),
    marker=style.marker(index),
    markersize=3,
    linewidth=1.2,
    elinewidth=0.6,
    label=model,
  )
