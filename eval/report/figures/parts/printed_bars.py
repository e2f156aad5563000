"""A printed table as bars: groups by one of its columns, colours by another."""

import dataclasses
import math
from collections.abc import Mapping

from robust_tfds.eval.report.charts import bars, style
from robust_tfds.eval.report.charts.frame import ABOVE, Frame
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import printed, sheet


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrintedBars(base.PaperFigure):
  """A group a network.

  Attributes:
    of: folder of `eval/papers`, file of the table.
    column: heading of the networks in the CSV.
    by: `training` or `metric`: what colours tell apart.
    panels: title -> value of `by` -> what the legend calls it.
    heading: of the values in the CSV.
    size: width and height in inches.
    y: words left of the panels.
    scale: of the values at the axis: 100 of rates in %.
    line: a height that is marked; None: none.
    remark: a sentence at the foot.
  """

  of: tuple[str, str]
  column: str
  by: str
  panels: Mapping[str, Mapping[str, str]]
  heading: str
  size: tuple[float, float]
  y: str
  scale: float = 1
  line: float | None = None
  remark: str

  def drawn(self, request: base.Request) -> base.Drawn:
    """The figure and its CSV."""
    rows = printed.table(*self.of)
    value = {
      (row.network, getattr(row, self.by)): self.scale * row.value
      for row in rows
    }
    networks = list(dict.fromkeys(row.network for row in rows))
    panels = [
      bars.Panel(
        [
          bars.Series(
            words,
            [style.Value(value.get((n, key), math.nan)) for n in networks],
          )
          for key, words in series.items()
        ],
        title=title,
        line=self.line,
      )
      for title, series in self.panels.items()
    ]
    names = [name.replace(" ResNet", "\nResNet") for name in networks]
    frame = Frame(*self.size, y=self.y, legend=ABOVE, share="y")
    fig = bars.draw(panels, bars.Groups(names), frame)
    columns = (self.column, self.by, sheet.Column(self.heading), "source")
    lines: list[list[sheet.Cell]] = [
      [r.network, getattr(r, self.by), r.value, r.source] for r in rows
    ]
    foot = [printed.source_of(rows), self.remark]
    return base.Drawn(fig, foot, sheet.Sheet(columns, lines))
