"""Published numbers beside ours; nothing where none are known."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import leaderboard_markdown
from eval.reports import pivot

TASKS = ("classification",)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes published.md: published value, ours, difference."""
  escape = leaderboard_markdown.escape
  lines = []
  for model in context.models:
    for metric, published in context.published.get(model, {}).items():
      if metric == "source":
        continue
      ours = pivot.headline(context, model, metric)
      printed = float(str(published))
      cells = [
        escape(model),
        escape(metric),
        pivot.percent(printed),
        pivot.percent(ours),
        pivot.percent(ours - printed),
        escape(str(context.published[model].get("source", ""))),
      ]
      lines.append("| " + " | ".join(cells) + " |")
  if not lines:
    return []
  head = "| Model | Metric | Published | Ours | Difference | Source |"
  path = folder / "published.md"
  path.write_text(
    "\n".join([head, "|---|---|---:|---:|---:|---|", *lines, ""]), "utf-8"
  )
  return [path]
