"""One video under every perturbation: some of its frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base

_FRAMES = 8  # of a strip
_SEVERITY = 3


class Strips(base.Report):
  """A line a condition: clean, then every perturbation at severity 3."""

  pictures = (("action_strips.png", "One video under every perturbation"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes action_strips.png and .svg; nothing without samples."""
    keys = [("", 0), *((n, _SEVERITY) for n in context.corruptions)]
    keys = [key for key in keys if key in context.samples]
    if not keys:
      return []
    fig = style.figure(1.15 * _FRAMES + 1.4, 1.12 * len(keys) + 0.4)
    grid = style.axes(fig, len(keys), _FRAMES)
    for line, key in zip(grid, keys):
      _strip(line, context.samples[key], style.words(key[0]) or "clean")
    return style.save(fig, folder, "action_strips", context.provenance)[:1]


def _strip(line: Sequence[style.Axes], frames: np.ndarray, name: str) -> None:
  """Frames at equal steps, the first and the last among them."""
  indices = np.linspace(0, len(frames) - 1, len(line)).round().astype(int)
  for ax, index in zip(line, indices):
    style.bare(ax)
    ax.imshow(frames[index], interpolation="nearest")
    ax.set_title(f"{index + 1} of {len(frames)}", fontsize=6, pad=1)
  line[0].set_ylabel(name, rotation=0, ha="right", va="center")
