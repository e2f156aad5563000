"""One self-contained page: tables, pictures and provenance; no network."""

from __future__ import annotations

import base64
import html
import pathlib

from eval import reports
from eval.reports import pivot

TASKS = ("classification", "sequences", "frames", "detection", "video")
LAST = True
_CSS = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; }
body { margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
.wide { overflow-x: auto; }
.best { font-weight: 700; }
img { max-width: 100%; background: white; }
footer, .note { color: #777; font-size: 13px; }
"""


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes report.html."""
  parts = [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    f"<title>{html.escape(context.dataset)}: robustness report</title>",
    f"<style>{_CSS}</style></head><body>",
    f"<h1>{html.escape(context.dataset)}: robustness report</h1>",
    f'<p class="note">{html.escape(pivot.note(context))} Rates in %.</p>',
    _headlines(context),
  ]
  for heading, names in pivot.sections(context):
    title = html.escape(heading[:1].upper() + heading[1:])
    parts += [f"<h2>{title}</h2>", _corruptions(context, names)]
  for module in reports.modules(context.task):
    for file, title in getattr(module, "PICTURES", ()):
      if (folder / file).exists():
        parts += [f"<h2>{title}</h2>", _picture(folder / file, title)]
  if context.task == "classification":
    parts += ["<h2>Every cell</h2>", _cells(context)]
  listed = "<br>".join(html.escape(p) for p in context.provenance)
  parts += [f"<footer>{listed}</footer></body></html>", ""]
  path = folder / "report.html"
  path.write_text("\n".join(parts), "utf-8")
  return [path]


def _headlines(context) -> str:
  listed = pivot.headlines(context)
  columns = [
    [pivot.headline(context, m, k) for m in context.models] for k, _ in listed
  ]
  heads = [label for _, label in listed]
  metrics = [metric for metric, _ in listed]
  return _table(["Model", *heads], context.models, columns, metrics)


def _corruptions(context, names) -> str:
  """Corruptions as rows: plain and normalised numbers of every model."""
  heads, columns, metrics = [pivot.noun(context).capitalize()], [], []
  for model in context.models:
    for metric, label in pivot.details(context):
      heads.append(f"{model} {label}")
      metrics.append(metric)
      columns.append(
        [pivot.by_corruption(context, model, metric, n) for n in names]
      )
  shown = [n.replace("_", " ") for n in names]
  return _table(heads, shown, columns, metrics, best=False)


def _cells(context) -> str:
  rows, values = [], []
  for model in context.models:
    for name in context.corruptions:
      rows.append(f"{model}, {name.replace('_', ' ')}")
      values.append(
        [
          pivot.value(
            context, model, corruption=name, severity=s, metric="error"
          )
          for s in range(1, 6)
        ]
      )
  columns = [list(c) for c in zip(*values)]
  metrics = ["error"] * len(columns)
  return _table(["Cell", *"12345"], rows, columns, metrics, best=False)


def _table(heads, rows, columns, metrics, best: bool = True) -> str:
  winners = [
    pivot.best(c, k) if best and len(c) > 1 else None
    for k, c in zip(metrics, columns)
  ]
  lines = ["".join(f"<th>{html.escape(h)}</th>" for h in heads)]
  for i, name in enumerate(rows):
    cells = "".join(
      f'<td class="best">{pivot.text(k, c[i])}</td>'
      if w == i
      else f"<td>{pivot.text(k, c[i])}</td>"
      for k, c, w in zip(metrics, columns, winners)
    )
    lines.append(f"<td>{html.escape(name)}</td>{cells}")
  body = "".join(f"<tr>{line}</tr>" for line in lines)
  return f'<div class="wide"><table>{body}</table></div>'


def _picture(path: pathlib.Path, title: str) -> str:
  data = base64.b64encode(path.read_bytes()).decode("ascii")
  return f'<img alt="{html.escape(title)}" src="data:image/png;base64,{data}">'
