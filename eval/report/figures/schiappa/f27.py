"""Figure 27: the order of frames under temporal perturbations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds import conditions, corruptions
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own_clip, sheet

_FRAMES = 64
_SOURCE = "robust_tfds.corruptions.frame_indices (edition paper), seed 0"


class Figure27(base.PaperFigure):
  """A panel a perturbation and severity: which frame is shown when."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure, and a CSV of the orders."""
    names = conditions.VIDEOS.members("temporal", "common")
    severities = conditions.SEVERITIES
    fig = style.figure(9, 1.6 * len(names) + 0.5)
    grid = style.axes(
      fig, len(names), len(severities), sharex=True, sharey=True
    )
    lines: list[list[sheet.Cell]] = []
    for axes, name in zip(grid, names):
      axes[0].set_ylabel(f"{style.words(name)}\nframe", fontsize=8)
      for ax, severity in zip(axes, severities):
        key = own_clip.key(name, severity)
        order = corruptions.frame_indices(_FRAMES, name, severity, key=key)
        shown = np.asarray(order).tolist()
        ax.scatter(range(len(shown)), shown, s=3, color=style.COLOURS[0])
        ax.tick_params(labelsize=7)
        if ax in grid[0]:
          ax.set_title(f"severity {severity}", fontsize=8)
        lines += [[name, severity, i, f, _SOURCE] for i, f in enumerate(shown)]
    for ax in grid[-1]:
      ax.set_xlabel("shown at", fontsize=8)
      ax.set_xlim(-2, _FRAMES + 1)
      ax.set_ylim(-2, _FRAMES + 1)
    columns = ("perturbation", "severity", "shown at", "frame", "source")
    return [
      *style.save(fig, folder, self.name, [_SOURCE]),
      sheet.Sheet(columns, lines).write_csv(folder, self.name),
    ]
