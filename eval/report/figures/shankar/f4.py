"""Figure 4: what detectors lose, in numbers in place of pictures."""

from __future__ import annotations

import math

from robust_tfds.eval.report.charts import bars, style
from robust_tfds.eval.report.charts.frame import ABOVE, Frame
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import printed, sheet

_KINDS = (
  ("map_orig", "pm-0: the anchor"),
  ("map_pmk", "pm-10: the worst frame"),
)
_TASKS = (
  ("", "boxes and classes"),
  ("localization/", "boxes alone (localization)"),
)
_WORDS = (
  "the paper shows pictures of detectors that fail; their frames and boxes are"
  " not published, so the same failures are drawn as numbers"
)


class Figure4(base.PaperFigure):
  """mAP of three detectors on anchors and worst frames."""

  def drawn(self, request: base.Request) -> base.Drawn:
    """The figure and its CSV."""
    rows = printed.table("shankar2021", "table3")
    value = {(row.network, row.metric): row.value for row in rows}
    models = list(dict.fromkeys(row.network for row in rows))
    panels = []
    for task, words in _TASKS:
      series = [
        bars.Series(
          label,
          [
            style.Value(100 * value.get((m, task + metric), math.nan))
            for m in models
          ],
        )
        for metric, label in _KINDS
      ]
      panels.append(bars.Panel(series, words))
    names = [m.replace(" ResNet", "\nResNet") for m in models]
    frame = Frame(8.5, 3.4, y="mAP (%)", legend=ABOVE, share="y")
    fig = bars.draw(panels, bars.Groups(names), frame)
    lines: list[list[sheet.Cell]] = [
      [r.network, r.metric, r.value, r.source] for r in rows
    ]
    columns = ("model", "metric", sheet.Column("value"), "source")
    foot = [printed.source_of(rows), _WORDS]
    return base.Drawn(fig, foot, sheet.Sheet(columns, lines))
