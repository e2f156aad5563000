"""Anchors that each model gets right, over frames that it does not (Figure 1)."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import style

TASKS = ("frames",)
PICTURES = (("natural_gallery.png", "Sets with failing frames"),)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes natural_gallery.png; nothing where no set fails."""
  shown = {title: pairs for title, pairs in context.gallery.items() if pairs}
  if not shown:
    return []
  columns = max(len(pairs) // 2 for pairs in shown.values())
  fig = style.figure(1.7 * columns + 0.6, 3.9 * len(shown) + 0.3)
  grid = style.axes(fig, 2 * len(shown), columns)
  for ax in grid.flat:
    ax.set_visible(False)
  for i, (title, pairs) in enumerate(shown.items()):
    for j, (pixels, caption) in enumerate(pairs):
      ax = grid[2 * i + j % 2, j // 2]
      ax.set_visible(True)
      ax.imshow(pixels, interpolation="nearest")
      ax.set_xticks([])
      ax.set_yticks([])
      ax.grid(False)
      ax.set_xlabel(caption, fontsize=7)
    grid[2 * i, 0].set_title(title, loc="left")
  return style.save(fig, folder, "natural_gallery", context.provenance)[:1]
