"""Every cell with its number of examples and its 95 % interval, as Markdown."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import leaderboard_markdown
from eval.reports import pivot

TASKS = ("classification",)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes cells.md."""
  escape = leaderboard_markdown.escape
  parts = [f"# Top-1 error of every cell, {escape(context.dataset)}, in %\n"]
  for model in context.models:
    cells = {
      (r.corruption, r.severity): r
      for r in context.rows
      if r.model == model and r.metric == "error"
    }
    parts.append(f"\n## {escape(model)}\n")
    if ("", 0) in cells:
      parts.append(f"Clean: {_interval(cells['', 0])}, n = {cells['', 0].n}\n")
    parts.append(
      "| Corruption | 1 | 2 | 3 | 4 | 5 |\n|---|---|---|---|---|---|"
    )
    for name in context.corruptions:
      row = [_interval(cells.get((name, s))) for s in range(1, 6)]
      parts.append("| " + " | ".join([escape(name), *row]) + " |")
  parts.append(f"\n{escape('; '.join(context.provenance))}\n")
  path = folder / "cells.md"
  path.write_text("\n".join(parts), "utf-8")
  return [path]


def _interval(row) -> str:
  if row is None:
    return "-"
  ends = f"{pivot.percent(row.lo)}–{pivot.percent(row.hi)}"
  return f"{pivot.percent(row.value)} ({ends})"
