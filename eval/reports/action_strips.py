"""One video under every perturbation: some of its frames."""

from __future__ import annotations

import pathlib

import numpy as np

from eval import reports
from eval.reports import style

TASKS = ("video",)
PICTURES = (("action_strips.png", "One video under every perturbation"),)
_SHOWN = 8  # frames of a strip
_SEVERITY = 3


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes action_strips.png and .svg; nothing without samples."""
  wanted = [("", 0)] + [(n, _SEVERITY) for n in context.corruptions]
  there = [cell for cell in wanted if cell in context.samples]
  if not there:
    return []
  fig = style.figure(1.15 * _SHOWN + 1.4, 1.12 * len(there) + 0.4)
  grid = style.axes(fig, len(there), _SHOWN)
  for row, cell in zip(grid, there):
    frames = context.samples[cell]
    chosen = np.linspace(0, len(frames) - 1, _SHOWN).round().astype(int)
    for ax, index in zip(row, chosen):
      ax.set_xticks([])
      ax.set_yticks([])
      ax.grid(False)
      ax.imshow(frames[index], interpolation="nearest")
      ax.set_title(f"{index + 1} of {len(frames)}", fontsize=6, pad=1)
    name = cell[0].replace("_", " ") or "clean"
    row[0].set_ylabel(name, rotation=0, ha="right", va="center")
  return style.save(fig, folder, "action_strips", context.provenance)[:1]
