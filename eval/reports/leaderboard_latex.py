"""The leaderboard as a LaTeX table (booktabs)."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import pivot

TASKS = ("classification", "sequences", "frames", "detection", "video")
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
  """Writes leaderboard.tex: headline numbers, then each corruption."""
  names = [*pivot.common(context), *pivot.extra(context)]
  headlines = pivot.headlines(context)
  by_name = [
    (metric, label, name)
    for metric, label in pivot.main_details(context)
    for name in names
  ]
  several = len(pivot.main_details(context)) > 1
  heads = [label for _, label in headlines] + [
    f"{name}, {label}" if several else name for _, label, name in by_name
  ]
  metrics = [m for m, _ in headlines] + [m for m, _, _ in by_name]
  columns = [
    [pivot.headline(context, model, m) for model in context.models]
    for m, _ in headlines
  ] + [
    [pivot.by_corruption(context, model, m, name) for model in context.models]
    for m, _, name in by_name
  ]
  winners = [pivot.best(c, k) for k, c in zip(metrics, columns)]
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
      _cell(pivot.text(k, c[i]), w == i and len(c) > 1)
      for k, c, w in zip(metrics, columns, winners)
    ]
    lines.append(" & ".join([escape(model), *cells]) + " \\\\")
  lines += ["\\bottomrule", "\\end{tabular}}", "\\end{table}", ""]
  path = folder / "leaderboard.tex"
  path.write_text("\n".join(lines), "utf-8")
  return [path]


def _cell(number: str, best: bool) -> str:
  number = number.replace("-", "--") if number == "-" else number
  return f"\\textbf{{{number}}}" if best else number


def escape(text: str) -> str:
  """Text with LaTeX's special characters escaped."""
  return "".join(_ESCAPES.get(c, c) for c in text)
