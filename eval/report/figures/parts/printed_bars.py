"""A printed table as bars: groups by one of its columns, colours by another."""

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence

from eval.cells.number import Number
from eval.charts import bars
from eval.papers import PrintedRow
from eval.report.figures import base
from eval.report.figures.parts import (
  own,
  printed,
  sheet,
  stored_pictures,
)
from robust_tfds.charts import style
from robust_tfds.charts.frame import ABOVE, Frame

_Line = tuple[str, str, Number, str]  # network, value of `by`, number, source


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrintedBars(base.PaperFigure):
  """A group per network, those of runs after the printed ones.

  Attributes:
    of: folder and table of `eval/papers`.
    column: heading of the networks in the CSV.
    by: what the colours mean, `training` or `metric`.
    panels: title -> value of `by` -> label in the legend.
    heading: heading of the values in the CSV.
    size: width and height in inches.
    y: label of the y axis.
    scale: factor of the values, e.g. 100 for rates in %.
    line: a height to mark; None: none.
    remark: a sentence at the foot.
    file: picture to copy from the reports of runs; empty: none.
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
  file: str = ""

  @property
  def printed_sets(self) -> Collection[str]:
    return printed.datasets(*self.of) if self.tasks else ()

  def drawn(self, request: base.Request) -> base.Drawn:
    rows = request.if_printed(printed.table(*self.of))
    models = own.from_boards(self.boards(request))
    listed = [*self._printed_lines(rows), *self._run_lines(models)]
    value = {
      (network, key): style.scaled(number, self.scale)
      for network, key, number, _ in listed
    }
    networks = list(dict.fromkeys(network for network, _ in value))
    panels = [
      bars.Panel(
        [
          bars.Series(
            words,
            [value.get((n, key), style.Value(math.nan)) for n in networks],
          )
          for key, words in series.items()
        ],
        title=title,
        line=self.line,
      )
      for title, series in self.panels.items()
    ]
    heads = [name.replace(" ResNet", "\nResNet") for name in networks]
    frame = Frame(*self.size, y=self.y, legend=ABOVE, share="y")
    fig = bars.draw(panels, bars.Groups(heads), frame)
    columns = (
      *(self.column, self.by, sheet.Column(self.heading)),
      *(sheet.Column("lo"), sheet.Column("hi"), "source"),
    )
    lines = [[*key, n.value, n.lo, n.hi, where] for *key, n, where in listed]
    names = {m.entry.run for m in models}
    runs = {s.side.run.name: s.side.run for s in request.scored}
    files, _ = stored_pictures.copies(
      f"{self.name}_frames",
      self.file,
      [run for name, run in runs.items() if name in names],
    )
    foot = [
      *([printed.source_of(rows), self.remark] if rows else []),
      own.comparability(models, *self.printed_sets) if request.printed else "",
      *([f"own runs: {own.runs(models)}"] if models else []),
    ]
    numbers = sheet.Sheet(columns, lines)
    return base.Drawn(fig, foot, numbers, pictures=files)

  def _printed_lines(self, rows: Sequence[PrintedRow]) -> list[_Line]:
    return [
      (r.network, getattr(r, self.by), printed.number(r), r.source)
      for r in rows
    ]

  def _run_lines(self, models: Sequence[own.Own]) -> list[_Line]:
    return [
      (model.label, key, number, model.source)
      for model in models
      for series in self.panels.values()
      for key in series
      if (number := model.number(key))
    ]
