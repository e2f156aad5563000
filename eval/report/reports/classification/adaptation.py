"""Error over the stream of models that adapt, and a table of their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eval.cells import cell, table
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables import markdown, numbers
from eval.tables.context import Context
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import ABOVE, Frame

_METRICS = ("error_at_5", "change_at_5", "seeds_error_at_5")


class Adaptation(base.Chart):
  """A line per model: the error of each part of the stream at severity 5."""

  stem = "adaptation"
  caption = "Error over the stream"
  reading = (
    "The error at severity 5 against the pictures that a model was shown before."
    " Where each condition begins anew, the mean over conditions; else one point a"
    " condition, in the order of the stream. Batches depend on each other, so no"
    " interval is drawn."
  )
  shows = "A line chart, pictures of the stream across, error up"

  def draw(self, context: Context) -> style.Figure | None:
    if not context.curves:
      return None
    named = context.curves[0].names
    top = 110 * max(max(curve.errors) for curve in context.curves) or 1
    drawn = [
      lines.Line(
        curve.label,
        curve.x,
        [style.Value(100 * e) for e in curve.errors],
        context.models.index(curve.label),
      )
      for curve in context.curves
    ]
    ticks = [x for x, _ in named], [n.replace("_", "\n") for _, n in named]
    frame = Frame(
      max(7, 0.8 * len(named)),
      4.2,
      x="" if named else "pictures shown before, in each condition",
      y="error at severity 5 (%)",
      y_ends=(0, top),
      x_ticks=ticks if named else None,
      title=context.title,
      legend=ABOVE,
      entries=3,
    )
    return lines.draw([lines.Panel(drawn)], frame)

  def text(self, context: Context) -> str:
    """Return the table of the models, as it is and adapting."""
    rows = context.rows_of
    labels = [c.label for c in context.curves]
    metrics = [m for m in _METRICS if any((k, m) in rows for k in labels)]
    headings = [definitions.metric(context.task, m).heading for m in metrics]
    body = []
    for label in labels:
      texts = [_interval(rows.get((label, metric), ())) for metric in metrics]
      passes = sum(r.value for r in rows.get((label, "backward_passes"), ()))
      body.append([markdown.escape(label), *texts, f"{passes:,.0f}"])
    heads = ("Model", *headings, "Backward passes")
    notes = {row.note for row in context.rows}
    words = sorted({_adaptation(note) for note in notes} - {""})
    return "\n".join(
      [
        "# Adaptation at test time\n",
        markdown.table(heads, body, "l" + "r" * (len(heads) - 1)),
        "\nRates in %, intervals of pictures as if they were independent; over"
        " seeds Student's t.\n",
        *(f"- {markdown.escape(line)}" for line in words),
        "",
      ]
    )


def _interval(rows: Sequence[table.Row]) -> str:
  if not rows or math.isnan(rows[0].value):
    return ""
  return numbers.row_text(rows[0], numbers.BRACKETS)


def _adaptation(note: str) -> str:
  """Return how a model adapts, of a row's note."""
  parts = note.split("; ")
  return next((p for p in parts if p.startswith(cell.ADAPTS)), "")
