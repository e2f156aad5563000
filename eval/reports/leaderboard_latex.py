"""The leaderboard as a LaTeX table (booktabs)."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import pivot

TASKS = ("classification",)
_ESCAPES = {
  "\\": r"\textbackslash{}",
  **{c: f"\\{c}" for c in "&%$#_{}"},
  "~": r"\textasciitilde{}",
  "^": r"\textasciicircum{}",
  "<": r"\textless{}",
  ">": r"\textgreater{}",
  "|": r"\textbar{}",
}


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes leaderboard.tex: headline numbers, then CE by corruption."""
  names = [*pivot.common(context), *pivot.extra(context)]
  heads = [label for _, label in pivot.HEADLINES] + names
  columns = [
    [pivot.headline(context, m, k) for m in context.models]
    for k, _ in pivot.HEADLINES
  ] + [
    [pivot.by_corruption(context, m, "ce", n) for m in context.models]
    for n in names
  ]
  winners = [pivot.best(c) for c in columns]
  lines = [
    "% needs \\usepackage{booktabs,graphicx,rotating}",
    "\\begin{table}\\centering",
    f"\\caption{{{escape(context.dataset)}. {escape(pivot.note(context))}}}",
    "\\resizebox{\\linewidth}{!}{%",
    f"\\begin{{tabular}}{{l{'r' * len(heads)}}}",
    "\\toprule",
    "Model & "
    + " & ".join(f"\\rotatebox{{90}}{{{escape(h)}}}" for h in heads)
    + " \\\\",
    "\\midrule",
  ]
  for i, model in enumerate(context.models):
    cells = [
      _cell(c[i], w == i and len(c) > 1) for c, w in zip(columns, winners)
    ]
    lines.append(" & ".join([escape(model), *cells]) + " \\\\")
  lines += ["\\bottomrule", "\\end{tabular}}", "\\end{table}", ""]
  path = folder / "leaderboard.tex"
  path.write_text("\n".join(lines), "utf-8")
  return [path]


def _cell(number: float, best: bool) -> str:
  text = (
    pivot.percent(number).replace("-", "--")
    if number != number
    else (pivot.percent(number))
  )
  return f"\\textbf{{{text}}}" if best else text


def escape(text: str) -> str:
  """Text with LaTeX's special characters escaped."""
  return "".join(_ESCAPES.get(c, c) for c in text)
