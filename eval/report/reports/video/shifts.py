"""Accuracy under natural shifts, by category and by shift (UCF101-DS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from etils import epath

from robust_tfds.eval.cells import table
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import markdown, numbers

_CATEGORY, _SHIFT = "accuracy/category/", "accuracy/shift/"
# (model, metric) -> row.
Rows = Mapping[tuple[str, str], table.Row]


class Shifts(base.Report):
  """A bar a category and model; a table of both."""

  pictures = (("action_shifts.png", "Accuracy by category of shifts"),)

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes action_shifts.png, .svg and .md; nothing without shifts."""
    rows = {(r.model, r.metric): r for r in context.rows}
    names = _names(rows, _CATEGORY)
    if not names:
      return []
    fig = style.figure(max(5.0, 0.62 * len(names) + 1.5), 3.6)
    ax = style.axes(fig, 1, 1)[0, 0]
    for i, model in enumerate(context.models):
      _bars(ax, context, [rows[model, _CATEGORY + n] for n in names], i)
    clips = [rows[context.models[0], _CATEGORY + n].n for n in names]
    ticks = [f"{name}\n{count} clips" for name, count in zip(names, clips)]
    ax.set_xticks(range(len(names)), ticks, rotation=40, ha="right", fontsize=7)
    ax.set_ylim(0, 100)
    ax.set_ylabel("accuracy (%)")
    ax.legend(fontsize=7)
    figures = style.save(fig, folder, "action_shifts", context.provenance)
    text = folder / "action_shifts.md"
    text.write_text(_tables(context, rows), "utf-8")
    return [*figures, text]


def _names(rows: Rows, prefix: str) -> list[str]:
  metrics = dict.fromkeys(m for _, m in rows if m.startswith(prefix))
  return [m.removeprefix(prefix) for m in metrics]


def _bars(
  ax: style.Axes, context: Context, rows: Sequence[table.Row], index: int
) -> None:
  """The bars of one model."""
  models = len(context.models)
  heights = 100 * np.array([r.value for r in rows])
  ends = 100 * np.array([[r.lo or 0, r.hi or 0] for r in rows])
  ax.bar(
    style.bar_positions(len(rows), index, models),
    heights,
    style.bar_width(models),
    yerr=np.abs(ends.T - heights),
    color=style.colour(index),
    hatch=style.hatch(index),
    edgecolor="white",
    linewidth=0.4,
    error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
    label=context.models[index],
  )


def _tables(context: Context, rows: Rows) -> str:
  parts = ["# Accuracy under natural shifts, in %, with 95 % intervals\n"]
  for heading, prefix in (("Category", _CATEGORY), ("Shift", _SHIFT)):
    heads = map(markdown.escape, (heading, "clips", *context.models))
    lines = []
    for name in _names(rows, prefix):
      of_models = [rows[m, prefix + name] for m in context.models]
      cells = [markdown.escape(name), str(of_models[0].n)]
      lines.append([*cells, *map(_interval, of_models)])
    parts.append("\n" + markdown.table(list(heads), lines))
  parts.append(markdown.foot(context.provenance))
  return "\n".join(parts)


def _interval(row: table.Row) -> str:
  ends = row.lo, row.hi
  return numbers.with_ends(numbers.percent, row.value, *ends, numbers.WORDS)
