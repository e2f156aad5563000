"""Figure 2: one perturbation of each group at every severity."""

import numpy as np

from eval.charts import pictures
from eval.metrics import definitions
from eval.report.figures import base
from eval.report.figures.parts import own_clip, sheet
from robust_tfds import conditions, corruptions

_NAMES = (
  *("gaussian_noise", "motion_blur", "jpeg", "jumbling", "random_rotation"),
)
_AT = 0.3  # position of the shown frame, as a share of the clip
_SOURCE = "our own clip, perturbed by robust_tfds.corruptions (edition paper)"


class Figure2(base.PaperFigure):
  """A line per perturbation, a frame per severity."""

  def drawn(self, request: base.Request) -> base.Drawn:
    clip = own_clip.frames()
    shown: list[pictures.Line] = []
    rows: list[list[sheet.Cell]] = []
    for name in _NAMES:
      line = []
      for severity in (0, *conditions.SEVERITIES):
        pixels = _perturbed(clip, name, severity)
        frame = pixels[int(_AT * len(pixels))]
        words = f"severity {severity}" if severity else "clean"
        line.append(pictures.Picture(frame, "" if shown else words))
        away = np.abs(frame.astype(float) - clip[int(_AT * len(clip))])
        rows.append([name, severity, float(away.mean()), _SOURCE])
      group = conditions.VIDEOS.row(name).group
      shown.append(pictures.Line(line, f"{definitions.words(name)}\n({group})"))
    fig = pictures.draw(shown, 1.4)
    columns = ("perturbation", "severity", "mean levels from clean", "source")
    return base.Drawn(fig, [_SOURCE], sheet.Sheet(columns, rows))


def _perturbed(clip: np.ndarray, name: str, severity: int) -> np.ndarray:
  if not severity:
    return clip
  key = own_clip.key(name, severity)
  return np.asarray(corruptions.perturb_video(clip, name, severity, key=key))
