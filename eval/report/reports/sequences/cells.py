"""Every perturbation and difficulty with its 95 % interval, as Markdown."""

from eval.cells import table
from eval.report.reports import base
from eval.tables import markdown, numbers, pivot
from eval.tables.context import Context
from robust_tfds import conditions


class Cells(base.TextReport):
  """A line per perturbation and difficulty, a column per number."""

  file = "cells.md"

  def text(self, context: Context) -> str:
    dataset = markdown.escape(context.dataset)
    parts = [f"# Stability of every model, {dataset}\n"]
    for model in context.models:
      parts += _lines(context, model)
    parts += [f"\n{markdown.escape(pivot.note(context))}\n"]
    parts += [markdown.foot(context.provenance)]
    return "\n".join(parts)


def _lines(context: Context, model: str) -> list[str]:
  metrics = [*context.facts.details, *context.facts.others]
  rows = {
    (r.corruption, r.severity, r.metric): r
    for r in table.select(context.rows, model=model)
  }
  headings = [pivot.unit_heading(m.heading, m) for m in metrics]
  lines = []
  for name in context.corruptions:
    for difficulty in conditions.DIFFICULTIES:
      main = rows.get((name, difficulty, metrics[0].name))
      if main:
        texts = [
          numbers.row_text(rows.get((name, difficulty, m.name)), metric=m)
          for m in metrics
        ]
        cells = [markdown.escape(name), str(difficulty), *texts, str(main.n)]
        lines.append(cells)
  heads = ["Perturbation", "Difficulty", *headings, "n"]
  return [f"\n## {markdown.escape(model)}\n", markdown.table(heads, lines)]
