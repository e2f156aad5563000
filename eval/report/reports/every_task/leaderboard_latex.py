"""The leaderboard as a LaTeX table (booktabs)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot, writers


class LeaderboardLatex(base.Report):
  """Headline numbers, then every corruption, in one table."""

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes leaderboard.tex."""
    escape = writers.escape_latex
    table = pivot.Table("", "Model", context.models, _columns(context), True)
    lines = [
      "% needs \\usepackage{booktabs,graphicx,rotating}",
      "\\begin{table}\\centering",
      f"\\caption{{{escape(context.dataset)}. {escape(pivot.note(context))}}}",
      writers.latex(table),
      "\\end{table}",
      "",
    ]
    path = folder / "leaderboard.tex"
    path.write_text("\n".join(lines), "utf-8")
    return [path]


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
