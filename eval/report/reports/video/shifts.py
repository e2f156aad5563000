"""Accuracy under natural shifts, by category and by shift (UCF101-DS)."""

from __future__ import annotations

from collections.abc import Mapping

from eval.cells import table
from eval.charts import bars
from eval.report.reports import base
from eval.tables import markdown, numbers
from eval.tables.context import Context
from robust_tfds.charts import style
from robust_tfds.charts.frame import INSIDE, Frame

_CATEGORY, _SHIFT = "accuracy/category/", "accuracy/shift/"
# (model, metric) -> row.
Rows = Mapping[tuple[str, str], table.Row]


class Shifts(base.Chart):
  """A bar per category and model, and a table by category and by shift."""

  stem = "action_shifts"
  caption = "Accuracy by category of shifts"
  reading = (
    "A bar a kind of natural shift and model; the dotted line is the"
    " accuracy over all."
  )
  shows = "Bars of accuracy, a group a category of natural shifts"

  def draw(self, context: Context) -> style.Figure | None:
    rows = _rows(context)
    names = _names(rows, _CATEGORY)
    if not names:
      return None
    series = [
      bars.Series(m, [style.scaled(rows[m, _CATEGORY + n]) for n in names])
      for m in context.models
    ]
    clips = [rows[context.models[0], _CATEGORY + n].n for n in names]
    words = [f"{name}\n{count} clips" for name, count in zip(names, clips)]
    frame = Frame(
      max(5.0, 0.62 * len(names) + 1.5),
      3.6,
      y="accuracy (%)",
      y_ends=(0, 100),
      legend=INSIDE,
    )
    return bars.draw(
      [bars.Panel(series)], bars.Groups(words, slant=True), frame
    )

  def text(self, context: Context) -> str:
    return _tables(context, _rows(context))


def _rows(context: Context) -> Rows:
  return {(r.model, r.metric): r for r in context.rows}


def _names(rows: Rows, prefix: str) -> list[str]:
  metrics = dict.fromkeys(m for _, m in rows if m.startswith(prefix))
  return [m.removeprefix(prefix) for m in metrics]


def _tables(context: Context, rows: Rows) -> str:
  parts = ["# Accuracy under natural shifts, in %, with 95 % intervals\n"]
  for heading, prefix in (("Category", _CATEGORY), ("Shift", _SHIFT)):
    heads = map(markdown.escape, (heading, "clips", *context.models))
    lines = []
    for name in _names(rows, prefix):
      shown = [rows[m, prefix + name] for m in context.models]
      cells = [markdown.escape(name), str(shown[0].n)]
      texts = (numbers.row_text(row, numbers.WORDS) for row in shown)
      lines.append([*cells, *texts])
    parts.append("\n" + markdown.table(list(heads), lines))
  parts.append(markdown.foot(context.provenance))
  return "\n".join(parts)
