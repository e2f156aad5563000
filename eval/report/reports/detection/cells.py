"""AP of every cell, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds import conditions
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import markdown, numbers, pivot

_ENDINGS = ("/AP", "/AP50", "/AP75")


class Cells(base.Report):
  """A table a model and kind of AP; severities are columns."""

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes cells.md."""
    metrics = dict.fromkeys(r.metric for r in context.rows if r.config)
    parts = [f"# Every cell of {markdown.escape(context.dataset)}, in %\n"]
    for model in context.models:
      for metric in metrics:
        if metric.endswith(_ENDINGS):
          parts += _lines(context, model, metric)
    parts += [markdown.foot(context.provenance)]
    path = folder / "cells.md"
    path.write_text("\n".join(parts), "utf-8")
    return [path]


def _lines(context: Context, model: str, metric: str) -> list[str]:
  """The section of one model and metric."""

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
