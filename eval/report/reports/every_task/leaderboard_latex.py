"""The leaderboard as a LaTeX table (booktabs)."""

import dataclasses

from eval.report.reports import base
from eval.tables import pivot, writers
from eval.tables.context import Context


class LeaderboardLatex(base.TextReport):
  """Headline numbers, then every corruption, in one table."""

  file = "leaderboard.tex"

  def text(self, context: Context) -> str:
    escape = writers.escape_latex
    table = pivot.Table("Model", context.models, _columns(context), True)
    lines = [
      "% needs \\usepackage{booktabs,graphicx,rotating}",
      "\\begin{table}\\centering",
      f"\\caption{{{escape(context.dataset)}. {escape(pivot.note(context))}}}",
      writers.latex(table),
      "\\end{table}",
      "",
    ]
    return "\n".join(lines)


def _columns(context: Context) -> list[pivot.Column]:
  """Return all numbers; headings name the metric if corruptions have several."""
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
