"""The leaderboard as Markdown: one row a model, corruptions in paper order."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import pivot

TASKS = ("classification", "sequences", "frames", "detection", "video")


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes leaderboard.md."""
  parts = [f"# {escape(context.dataset)}\n", table(context)]
  for heading, names in pivot.sections(context):
    for metric, label in pivot.main_details(context):
      parts += [f"\n## {label} of the {heading}\n"]
      parts += [_corruptions(context, metric, names)]
  parts += [f"\n{escape(pivot.note(context))}\n"]
  parts += [f"\n{escape('; '.join(context.provenance))}\n"]
  path = folder / "leaderboard.md"
  path.write_text("\n".join(parts), "utf-8")
  return [path]


def table(context: reports.Context) -> str:
  """Headline numbers of every model, the best in bold."""
  listed = pivot.headlines(context)
  columns = [
    [pivot.headline(context, m, metric) for m in context.models]
    for metric, _ in listed
  ]
  heads = ["Model", *(label for _, label in listed)]
  metrics = [metric for metric, _ in listed]
  return _markdown(heads, context.models, columns, metrics)


def _corruptions(context, metric, names):
  columns = [
    [pivot.by_corruption(context, m, metric, n) for m in context.models]
    for n in names
  ]
  metrics = [metric] * len(names)
  return _markdown(["Model", *names], context.models, columns, metrics)


def _markdown(heads, models, columns, metrics):
  lines = [
    "| " + " | ".join(escape(h) for h in heads) + " |",
    "|---|" + "---:|" * (len(heads) - 1),
  ]
  winners = [pivot.best(c, k) for k, c in zip(metrics, columns)]
  for i, model in enumerate(models):
    cells = [
      f"**{pivot.text(k, c[i])}**"
      if winner == i and len(models) > 1
      else pivot.text(k, c[i])
      for k, c, winner in zip(metrics, columns, winners)
    ]
    lines.append("| " + " | ".join([escape(model), *cells]) + " |")
  return "\n".join(lines)


def escape(text: str) -> str:
  """Text that Markdown and the HTML in it leave alone."""
  for old, new in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
    text = text.replace(old, new)
  return text.replace("_", "\\_").replace("*", "\\*")
