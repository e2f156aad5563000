"""Published numbers beside ours; nothing where none are known."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from eval import reports
from eval.reports import leaderboard_markdown
from eval.reports import pivot

TASKS = ("classification", "sequences", "frames")


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes published.md: published value, ours, difference."""
  lines = []
  for model in context.models:
    printed = dict(context.published.get(model, {}))
    source = str(printed.pop("source", ""))
    for metric, found in printed.items():
      if isinstance(found, Mapping):
        for name, number in found.items():
          ours = pivot.by_corruption(context, model, metric, name)
          lines.append(_line(model, f"{metric}, {name}", number, ours, source))
      else:
        ours = pivot.headline(context, model, metric)
        lines.append(_line(model, metric, float(str(found)), ours, source))
  if not lines:
    return []
  head = "| Model | Metric | Published | Ours | Difference | Source |"
  path = folder / "published.md"
  path.write_text(
    "\n".join([head, "|---|---|---:|---:|---:|---|", *lines, ""]), "utf-8"
  )
  return [path]


def _line(
  model: str, what: str, printed: float, ours: float, source: str
) -> str:
  escape = leaderboard_markdown.escape
  numbers = (pivot.percent(n) for n in (printed, ours, ours - printed))
  return (
    "| "
    + " | ".join([escape(model), escape(what), *numbers, escape(source)])
    + " |"
  )
