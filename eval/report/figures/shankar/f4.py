"""Figure 4: what detectors lose, in numbers in place of pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import bars, printed, sheet

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

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    rows = printed.table("shankar2021", "table3")
    value = {(row.network, row.metric): row.value for row in rows}
    models = list(dict.fromkeys(row.network for row in rows))
    fig = style.figure(8.5, 3.4)
    for ax, (task, words) in zip(style.axes(fig, 1, 2, sharey=True)[0], _TASKS):
      names = [m.replace(" ResNet", "\nResNet") for m in models]
      series = [
        bars.Series(
          label,
          [100 * value.get((m, task + metric), math.nan) for m in models],
        )
        for metric, label in _KINDS
      ]
      bars.draw(ax, names, series)
      ax.set_title(words, loc="left", fontsize=9)
      ax.set_ylabel("mAP (%)")
    style.legend_above(fig, ax)
    lines: list[list[sheet.Cell]] = [
      [r.network, r.metric, r.value, r.source] for r in rows
    ]
    columns = ("model", "metric", sheet.Column("value"), "source")
    foot = [printed.source_of(rows), _WORDS]
    return [
      *style.save(fig, folder, self.name, foot),
      sheet.Sheet(columns, lines).write_csv(folder, self.name),
    ]
