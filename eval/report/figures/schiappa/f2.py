"""Figure 2: one perturbation of each group at every severity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds import conditions, corruptions
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own_clip, sheet

_NAMES = (
  *("gaussian_noise", "motion_blur", "jpeg", "jumbling", "random_rotation"),
)
_AT = 0.3  # of the clip that is shown
_SOURCE = "our own clip, perturbed by robust_tfds.corruptions (edition paper)"


class Figure2(base.PaperFigure):
  """A line a perturbation, a frame a severity."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure, and a CSV of how far each frame is from its clean one."""
    clip = own_clip.frames()
    fig = style.figure(9, 1.5 * len(_NAMES) + 0.5)
    grid = style.axes(fig, len(_NAMES), 1 + len(conditions.SEVERITIES))
    lines: list[list[sheet.Cell]] = []
    for axes, name in zip(grid, _NAMES):
      group = conditions.VIDEOS.row(name).group
      axes[0].set_ylabel(f"{style.words(name)}\n({group})", fontsize=8)
      for ax, severity in zip(axes, (0, *conditions.SEVERITIES)):
        pixels = _perturbed(clip, name, severity)
        at = int(_AT * len(pixels))
        ax.imshow(pixels[at], interpolation="nearest")
        style.bare(ax)
        if ax in grid[0]:
          words = f"severity {severity}" if severity else "clean"
          ax.set_title(words, fontsize=8)
        away = np.abs(pixels[at].astype(float) - clip[int(_AT * len(clip))])
        lines.append([name, severity, float(away.mean()), _SOURCE])
    columns = ("perturbation", "severity", "mean levels from clean", "source")
    return [
      *style.save(fig, folder, self.name, [_SOURCE]),
      sheet.Sheet(columns, lines).write_csv(folder, self.name),
    ]


def _perturbed(clip: np.ndarray, name: str, severity: int) -> np.ndarray:
  if not severity:
    return clip
  key = own_clip.key(name, severity)
  return np.asarray(corruptions.perturb_video(clip, name, severity, key=key))
