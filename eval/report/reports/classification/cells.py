"""Every cell with its number of examples and its 95 % interval, as Markdown."""

from typing import ClassVar

from eval.cells import table
from eval.report.reports import base
from eval.tables import markdown, numbers
from eval.tables.context import Context
from robust_tfds import conditions


class Cells(base.TextReport):
  """Top-1 error: a line per corruption, a column per severity.

  Class attributes:
    metric: the cells' number.
    title: its name.
  """

  file = "cells.md"
  metric: ClassVar[str] = "error"
  title: ClassVar[str] = "Top-1 error"

  def text(self, context: Context) -> str:
    dataset = markdown.escape(context.dataset)
    parts = [f"# {self.title} of every cell, {dataset}, in %\n"]
    for model in context.models:
      parts += _lines(context, model, self.metric)
    parts += [markdown.foot(context.provenance)]
    return "\n".join(parts)


def _lines(context: Context, model: str, metric: str) -> list[str]:
  cells = {
    (r.corruption, r.severity): r
    for r in table.select(context.rows, model=model, metric=metric)
  }
  lines = [f"\n## {markdown.escape(model)}\n"]
  clean = cells.get(("", 0))
  if clean:
    lines.append(f"Clean: {numbers.row_text(clean)}, n = {clean.n}\n")
  severities = conditions.SEVERITIES
  rows = [
    [
      markdown.escape(name),
      *(numbers.row_text(cells.get((name, s))) for s in severities),
    ]
    for name in context.corruptions
  ]
  heads = ["Corruption", *map(str, severities)]
  return [*lines, markdown.table(heads, rows)]
