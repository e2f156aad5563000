"""The summary on the screen and in `summary.txt`."""

from eval.report.reports import base
from eval.tables import pivot, writers
from eval.tables.context import Context


class Summary(base.TextReport):
  """Models, then corruptions, as aligned text; the verdict is last."""

  file = "summary.txt"

  def text(self, context: Context) -> str:
    models = context.models
    lines = [f"{context.dataset}: {len(models)} model(s), rates in %", ""]
    columns = pivot.headline_columns(context)
    lines += writers.aligned(pivot.Table("model", models, columns))
    for heading, names in pivot.sections(context):
      columns = pivot.detail_columns(context, names)
      lines += ["", *writers.aligned(pivot.Table(heading, names, columns))]
    lines += [
      "",
      pivot.note(context),
      *context.provenance,
      "",
      *context.verdict,
    ]
    return "\n".join([*lines, ""])
