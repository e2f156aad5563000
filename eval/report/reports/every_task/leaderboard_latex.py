"""The leaderboard as a LaTeX table (booktabs)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot

_ESCAPES = {
  "\\": r"\textbackslash{}",
  **{c: f"\\{c}" for c in "&%$#_{}"},
  "~": r"\textasciitilde{}",
  "^": r"\textasciicircum{}",
  "<": r"\textless{}",
  ">": r"\textgreater{}",
  "|": r"\textbar{}",
  # After a line's end these would belong to its command.
  "[": "{[}",
  "*": "{*}",
}


class LeaderboardLatex(base.Report):
  """Headline numbers, then every corruption, in one table."""

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes leaderboard.tex."""
    columns = _columns(context)
    headings = [f"\\rotatebox{{90}}{{{escape(c.heading)}}}" for c in columns]
    lines = [
      "% needs \\usepackage{booktabs,graphicx,rotating}",
      "\\begin{table}\\centering",
      f"\\caption{{{escape(context.dataset)}. {escape(pivot.note(context))}}}",
      "\\resizebox{\\linewidth}{!}{%",
      f"\\begin{{tabular}}{{l{'r' * len(columns)}}}",
      "\\toprule",
      "Model & " + " & ".join(headings) + " \\\\",
      "\\midrule",
    ]
    for i, model in enumerate(context.models):
      cells = [_cell(c.texts[i], c.best == i) for c in columns]
      lines.append(" & ".join([escape(model), *cells]) + " \\\\")
    lines += ["\\bottomrule", "\\end{tabular}}", "\\end{table}", ""]
    path = folder / "leaderboard.tex"
    path.write_text("\n".join(lines), "utf-8")
    return [path]


def escape(text: str) -> str:
  """Text with LaTeX's special characters escaped."""
  return "".join(_ESCAPES.get(c, c) for c in text)


def _columns(context: Context) -> list[pivot.Column]:
  """All numbers; headings say the metric where corruptions have several."""
  columns = pivot.headline_columns(context)
  metrics = pivot.main_details(context)
  for metric in metrics:
    for column in pivot.corruption_columns(
      context, metric, pivot.names(context)
    ):
      if len(metrics) > 1:
        heading = f"{column.heading}, {metric.heading}"
        column = dataclasses.replace(column, heading=heading)
      columns.append(column)
  return columns


def _cell(number: str, best: bool) -> str:
  number = "--" if number == "-" else number
  return f"\\textbf{{{number}}}" if best else number
