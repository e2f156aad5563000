"""Every perturbation and difficulty with its 95 % interval, as Markdown."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import leaderboard_markdown
from eval.reports import pivot
from eval.results import table

TASKS = ("sequences",)
_COLUMNS = (
  ("flip_probability", "FP (%)"),
  ("fr", "FR (%)"),
  ("unnormalised_t5d", "uT5D"),
  ("t5d", "T5D (%)"),
  ("zipf_distance", "Zipf"),
)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes cells.md."""
  escape = leaderboard_markdown.escape
  parts = [f"# Stability of every model, {escape(context.dataset)}\n"]
  for model in context.models:
    own = [r for r in context.rows if r.model == model]
    by = {(r.corruption, r.severity, r.metric): r for r in own}
    parts.append(f"\n## {escape(model)}\n")
    heads = ["Perturbation", "Difficulty", *(h for _, h in _COLUMNS), "n"]
    parts.append("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name in context.corruptions:
      for difficulty in (1, 2, 3):
        cell = by.get((name, difficulty, "flip_probability"))
        if cell:
          numbers = [
            _interval(m, by.get((name, difficulty, m))) for m, _ in _COLUMNS
          ]
          line = [escape(name), str(difficulty), *numbers, str(cell.n)]
          parts.append("| " + " | ".join(line) + " |")
  parts.append(f"\n{escape(pivot.note(context))}\n")
  parts.append(f"\n{escape('; '.join(context.provenance))}\n")
  path = folder / "cells.md"
  path.write_text("\n".join(parts), "utf-8")
  return [path]


def _interval(metric: str, row: table.Row | None) -> str:
  if row is None:
    return "-"
  shown = pivot.text(metric, row.value)
  if row.lo is None or row.hi is None:
    return shown
  return f"{shown} ({pivot.text(metric, row.lo)}–{pivot.text(metric, row.hi)})"
