"""A rate against severity: a panel per corruption, a line per model."""

from __future__ import annotations

import dataclasses

from eval.metrics import definitions
from eval.report.reports import base
from eval.tables import pivot
from eval.tables.context import Context
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import ABOVE, Frame


@dataclasses.dataclass(frozen=True)
class SeverityCurves(base.Chart):
  """The rate of every cell with its interval.

  Attributes:
    stem: name of its files.
    metric: the rate.
    words: label of the y axis.
    columns: panels in a row.
    top: end of the y axis in %; None: the highest end of an interval.
  """

  stem: str
  metric: str
  words: str
  columns: int
  top: float | None = None
  caption = "Severity curves"
  reading = (
    "A panel for each corruption, clean at its left. The areas are 95 %"
    " intervals."
  )
  shows = "A line chart for each corruption, severity across"

  def draw(self, context: Context) -> style.Figure | None:
    names = pivot.names(context)
    if not names:
      return None
    rows = [r for r in context.rows if r.metric == self.metric]
    top = self.top or 100 * max((r.hi or 0.0 for r in rows), default=0.0)
    percent = context.facts.metric(self.metric).percent
    columns = min(self.columns, len(names))
    frame = Frame(
      max(2.1 * columns + 0.5, 4.5),
      2.1 * -(-len(names) // columns) + 0.8,
      columns,
      y=self.words,
      y_ends=(0, top) if percent else None,
      x_ticks=lines.SEVERITIES,
      title=context.title,
      legend=ABOVE,
    )
    return lines.draw([self._panel(context, name) for name in names], frame)

  def _panel(self, context: Context, name: str) -> lines.Panel:
    own = context.family.row(name).set == "own"
    kind = "" if name in context.common else ", own" if own else ", extra"
    curves = []
    factor = 100 if context.facts.metric(self.metric).percent else 1
    for i, model in enumerate(context.models):
      rows = [
        r
        for r in context.rows_of.get((model, self.metric), ())
        if r.corruption == name or (not r.corruption and r.severity == 0)
      ]
      rows.sort(key=lambda r: r.severity or 0)
      x = [r.severity or 0 for r in rows]
      values = [style.scaled(row, factor) for row in rows]
      curves.append(lines.Line(model, x, values, i))
    title = f"{definitions.words(name)}\n{context.group(name)}{kind}"
    return lines.Panel(curves, title=title)
