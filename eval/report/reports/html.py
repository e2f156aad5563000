"""One self-contained page: tables, pictures and provenance; no network.

No report: `write_all` writes it last, about the reports before it.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports.base import Report
from robust_tfds.eval.report.tables import pivot

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


def write(
  context: Context, reports: Sequence[Report], folder: epath.Path
) -> list[epath.Path]:
  """Writes report.html.

  Args:
    context: what the page is about.
    reports: whose pictures and tables it shows; written already.
    folder: of the pictures and the page.
  """
  parts = [_head(context), _headlines(context)]
  for heading, names in pivot.sections(context):
    title = heading[:1].upper() + heading[1:]
    parts += _section(title, _table(_corruptions(context, title, names)))
  for report in reports:
    for file, title in report.pictures:
      if (folder / file).exists():
        parts += _section(title, _picture(folder / file, title))
  for report in reports:
    for table in report.tables(context):
      parts += _section(table.title, _table(table))
  lines = "<br>".join(html.escape(p) for p in context.provenance)
  parts += [f"<footer>{lines}</footer></body></html>", ""]
  path = folder / "report.html"
  path.write_text("\n".join(parts), "utf-8")
  return [path]


def _head(context: Context) -> str:
  title = f"{html.escape(context.dataset)}: robustness report"
  return "\n".join(
    [
      "<!doctype html>",
      '<html lang="en"><head><meta charset="utf-8">',
      f"<title>{title}</title>",
      f"<style>{_CSS}</style></head><body>",
      f"<h1>{title}</h1>",
      f'<p class="note">{html.escape(pivot.note(context))} Rates in %.</p>',
    ]
  )


def _headlines(context: Context) -> str:
  columns = pivot.headline_columns(context)
  return _table(pivot.Table("", "Model", context.models, columns, bold=True))


def _corruptions(
  context: Context, title: str, names: Sequence[str]
) -> pivot.Table:
  """Corruptions as lines: plain and normalised numbers of every model."""
  return pivot.Table(
    title,
    context.facts.noun.capitalize(),
    [n.replace("_", " ") for n in names],
    pivot.detail_columns(context, names),
  )


def _section(title: str, body: str) -> list[str]:
  return [f"<h2>{html.escape(title)}</h2>", body]


def _table(table: pivot.Table) -> str:
  heads = [table.corner, *(c.heading for c in table.columns)]
  lines = ["".join(f"<th>{html.escape(h)}</th>" for h in heads)]
  for i, name in enumerate(table.names):
    cells = "".join(
      f'<td class="best">{column.texts[i]}</td>'
      if table.bold and column.best == i
      else f"<td>{column.texts[i]}</td>"
      for column in table.columns
    )
    lines.append(f"<td>{html.escape(name)}</td>{cells}")
  body = "".join(f"<tr>{line}</tr>" for line in lines)
  return f'<div class="wide"><table>{body}</table></div>'


def _picture(path: epath.Path, title: str) -> str:
  data = base64.b64encode(path.read_bytes()).decode("ascii")
  return f'<img alt="{html.escape(title)}" src="data:image/png;base64,{data}">'
