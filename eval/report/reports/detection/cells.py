"""AP of every cell, as Markdown."""

from eval.report.reports import base
from eval.tables import markdown, numbers, pivot
from eval.tables.context import Context
from robust_tfds import conditions

_ENDINGS = ("/AP", "/AP50", "/AP75")


class Cells(base.TextReport):
  """A table per model and kind of AP; severities are columns."""

  file = "cells.md"

  def text(self, context: Context) -> str:
    metrics = dict.fromkeys(r.metric for r in context.rows if r.config)
    parts = [f"# Every cell of {markdown.escape(context.dataset)}, in %\n"]
    for model in context.models:
      for metric in metrics:
        if metric.endswith(_ENDINGS):
          parts += _lines(context, model, metric)
    parts += [markdown.foot(context.provenance)]
    return "\n".join(parts)


def _lines(context: Context, model: str, metric: str) -> list[str]:

  def percent(name: str, severity: int) -> str:
    number = pivot.value(
      context, model, corruption=name, severity=severity, metric=metric
    )
    return numbers.percent(number)

  severities = conditions.SEVERITIES
  rows = [
    [markdown.escape(name), *(percent(name, s) for s in severities)]
    for name in context.corruptions
  ]
  return [
    f"\n## {markdown.escape(model)}, {markdown.escape(metric)}\n",
    f"Clean: {percent('', 0)}\n",
    markdown.table(["Corruption", *map(str, severities)], rows),
  ]
