"""How far similar frames are from their anchors in pixels (Appendix F)."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import natural_pivot
from eval.reports import style

TASKS = ("frames",)
PICTURES = (("natural_distances.png", "Pixel distances from the anchor"),)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes natural_distances.png and .svg; nothing where none are known."""
  listed = [
    (m, natural_pivot.series(context, m, "linf_cdf", "mistakes"))
    for m in context.models
  ]
  pairs = next(
    (
      found
      for m in context.models
      if (found := natural_pivot.series(context, m, "linf_cdf", "pairs"))
    ),
    None,
  )
  if not pairs:
    return []
  fig = style.figure(6.5, 4)
  ax = style.axes(fig, 1, 1)[0, 0]
  _curve(ax, pairs, f"all pairs ({pairs[0][1].n})", "#000000", "--")
  for i, (model, found) in enumerate(listed):
    if found:
      label = f"{model}, mistakes ({found[0][1].n})"
      _curve(ax, found, label, natural_pivot.colour(i), "-")
  ax.set_xlabel("l-infinity distance from the anchor (1: black against white)")
  ax.set_ylabel("share of frames (%)")
  ax.set_xlim(0, 1)
  ax.set_ylim(0, 102)
  ax.legend(fontsize=7, frameon=False)
  return style.save(fig, folder, "natural_distances", context.provenance)


def _curve(ax, found, label, colour, dashes) -> None:
  ax.plot(
    [float(value) for value, _ in found],
    [100 * r.value for _, r in found],
    color=colour,
    linestyle=dashes,
    linewidth=1.2,
    label=label,
  )
