"""One example under every corruption and severity."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import pivot
from eval.reports import style

TASKS = ("classification",)
PICTURES = (("gallery.png", "One example under every corruption"),)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes gallery.png and .svg; nothing without samples."""
  names = [*pivot.common(context), *pivot.extra(context)]
  severities = sorted({s for _, s in context.samples if s})
  if not names or not severities:
    return []
  columns = [0, *severities]
  fig = style.figure(1.1 * len(columns) + 1.2, 1.12 * len(names) + 0.4)
  grid = style.axes(fig, len(names), len(columns))
  for row, name in zip(grid, names):
    for ax, severity in zip(row, columns):
      ax.set_xticks([])
      ax.set_yticks([])
      ax.grid(False)
      image = context.samples.get((name, severity) if severity else ("", 0))
      if image is not None:
        ax.imshow(image, interpolation="nearest")
    row[0].set_ylabel(
      name.replace("_", " "), rotation=0, ha="right", va="center"
    )
  for ax, severity in zip(grid[0], columns):
    ax.set_title(str(severity) if severity else "clean")
  return style.save(fig, folder, "gallery", context.provenance)[:1]
