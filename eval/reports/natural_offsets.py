"""Share of wrong frames at each signed offset from the anchor (Figure 5)."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import natural_pivot
from eval.reports import style

TASKS = ("frames",)
PICTURES = (("natural_offsets.png", "Errors by offset"),)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes natural_offsets.png and .svg."""
  fig = style.figure(7, 4)
  ax = style.axes(fig, 1, 1)[0, 0]
  for i, model in enumerate(context.models):
    found = natural_pivot.series(context, model, "error", "offset")
    aside = 0.1 * (i - (len(context.models) - 1) / 2)
    x = [int(value) + aside for value, _ in found]
    y = [100 * r.value for _, r in found]
    ends = [
      [100 * (r.value - (r.lo or 0.0)) for _, r in found],
      [100 * ((r.hi or 0.0) - r.value) for _, r in found],
    ]
    ax.errorbar(
      x,
      y,
      yerr=ends,
      color=natural_pivot.colour(i),
      marker=natural_pivot.marker(i),
      markersize=3,
      linewidth=1.2,
      elinewidth=0.6,
      label=model,
    )
  ax.axvline(0, color="#999999", linewidth=0.8, linestyle=":")
  ax.set_ylim(bottom=0)
  ax.set_xticks(range(-10, 11, 2))
  ax.set_xlabel("offset from the anchor (frames)")
  ax.set_ylabel("wrong frames (%)")
  fig.legend(fontsize=7, loc="outside upper center", ncols=5, frameon=False)
  return style.save(fig, folder, "natural_offsets", context.provenance)
