"""AP of every cell, as Markdown."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import leaderboard_markdown
from eval.reports import pivot

TASKS = ("detection",)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes cells.md: severities as columns, a table a model and metric."""
  escape = leaderboard_markdown.escape
  metrics = [
    m
    for m in dict.fromkeys(r.metric for r in context.rows if r.config)
    if m.endswith(("/AP", "/AP50", "/AP75"))
  ]
  parts = [f"# Every cell of {escape(context.dataset)}, in %\n"]
  for model in context.models:
    for metric in metrics:
      parts.append(f"\n## {escape(model)}, {escape(metric)}\n")
      clean = pivot.value(
        context, model, corruption="", severity=0, metric=metric
      )
      parts.append(f"Clean: {pivot.percent(clean)}\n")
      parts.append(
        "| Corruption | 1 | 2 | 3 | 4 | 5 |\n|---|---|---|---|---|---|"
      )
      for name in context.corruptions:
        row = [
          pivot.percent(
            pivot.value(
              context, model, corruption=name, severity=s, metric=metric
            )
          )
          for s in range(1, 6)
        ]
        parts.append("| " + " | ".join([escape(name), *row]) + " |")
  parts.append(f"\n{escape('; '.join(context.provenance))}\n")
  path = folder / "cells.md"
  path.write_text("\n".join(parts), "utf-8")
  return [path]
