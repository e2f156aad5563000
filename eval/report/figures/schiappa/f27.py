"""Figure 27: the order of frames under temporal perturbations."""

import numpy as np

from eval.charts import scatter
from eval.metrics import definitions
from eval.report.figures import base
from eval.report.figures.parts import own_clip, sheet
from robust_tfds import conditions, corruptions
from robust_tfds.charts import style
from robust_tfds.charts.frame import Frame

_FRAMES = 64
_SOURCE = "robust_tfds.corruptions.frame_indices (edition paper), seed 0"


class Figure27(base.PaperFigure):
  """A panel per perturbation and severity: which frame is shown when."""

  def drawn(self, request: base.Request) -> base.Drawn:
    names = conditions.VIDEOS.members("temporal", "common")
    severities = conditions.SEVERITIES
    panels, rows = [], []
    for name in names:
      for severity in severities:
        key = own_clip.key(name, severity)
        order = corruptions.frame_indices(_FRAMES, name, severity, key=key)
        shown = np.asarray(order).tolist()
        points = [
          scatter.Point(style.Value(i), style.Value(f), area=3)
          for i, f in enumerate(shown)
        ]
        title = f"severity {severity}" if name == names[0] else ""
        words = f"{definitions.words(name)}\nframe" * (
          severity == severities[0]
        )
        panels.append(scatter.Panel(points, title=title, y=words))
        rows += [[name, severity, i, f, _SOURCE] for i, f in enumerate(shown)]
    ends = (-2, _FRAMES + 1)
    frame = Frame(
      *(9, 1.6 * len(names) + 0.5, len(severities)),
      x="shown at",
      x_ends=ends,
      y_ends=ends,
    )
    fig = scatter.draw(panels, frame)
    columns = ("perturbation", "severity", "shown at", "frame", "source")
    return base.Drawn(fig, [_SOURCE], sheet.Sheet(columns, rows))
