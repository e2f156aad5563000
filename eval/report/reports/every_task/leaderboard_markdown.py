"""The leaderboard as Markdown: a row per model, corruptions in paper order."""

from collections.abc import Sequence

from eval.report.reports import base
from eval.tables import markdown, pivot, writers
from eval.tables.context import Context


class LeaderboardMarkdown(base.TextReport):
  """Headline numbers, then a table per metric of the corruptions."""

  file = "leaderboard.md"

  def text(self, context: Context) -> str:
    parts = [
      f"# {markdown.escape(context.dataset)}\n",
      _table(context, pivot.headline_columns(context)),
    ]
    for heading, names in pivot.sections(context):
      for metric in pivot.main_details(context):
        columns = pivot.corruption_columns(context, metric, names)
        parts += [f"\n## {metric.heading} of the {heading}\n"]
        parts += [_table(context, columns)]
    parts += [f"\n{markdown.escape(pivot.note(context))}\n"]
    parts += [markdown.foot(context.provenance)]
    return "\n".join(parts)


def _table(context: Context, columns: Sequence[pivot.Column]) -> str:
  return writers.markdown(
    pivot.Table("Model", context.models, columns, bold=True)
  )
