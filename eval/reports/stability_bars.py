"""Flip rate and top-5 distance of every perturbation, a bar a model."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import pivot
from eval.reports import style

TASKS = ("sequences",)
PICTURES = (("stability_bars.png", "Stability of every perturbation"),)
_LABELS = {
  "fr": "flip rate FR (%)",
  "flip_probability": "flip probability (%)",
  "t5d": "top-5 distance T5D (%)",
  "unnormalised_t5d": "top-5 distance",
}


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes stability_bars.png and .svg; nothing without perturbations."""
  names = [*pivot.common(context), *pivot.extra(context)]
  shown = pivot.main_details(context)
  if not names or not shown:
    return []
  fig = style.figure(11, 2.6 * len(shown) + 0.8)
  grid = style.axes(fig, len(shown), 1, sharex=True)
  for ax, (metric, _) in zip(grid[:, 0], shown):
    _panel(ax, context, metric, names)
  ticks = [n.replace("_", "\n") for n in names]
  grid[-1, 0].set_xticks(range(len(names)), ticks)
  handles, labels = grid[0, 0].get_legend_handles_labels()
  fig.legend(
    handles, labels, loc="outside upper center", ncols=min(len(labels), 6)
  )
  return style.save(fig, folder, "stability_bars", context.provenance)


def _panel(ax, context, metric, names):
  width = 0.8 / len(context.models)
  scale = 1 if metric == "unnormalised_t5d" else 100
  for i, model in enumerate(context.models):
    rows = {
      r.corruption: r
      for r in reversed(context.rows)  # the easiest difficulty last: it stays
      if r.model == model and r.metric == metric
    }
    x, heights, below, above = [], [], [], []
    for position, name in enumerate(names):
      row = rows.get(name)
      if row is None:
        continue
      x.append(position + (i - (len(context.models) - 1) / 2) * width)
      heights.append(scale * row.value)
      below.append(scale * max(0.0, row.value - (row.lo or 0.0)))
      above.append(scale * max(0.0, (row.hi or row.value) - row.value))
    ax.bar(
      x,
      heights,
      width,
      yerr=(below, above),
      color=style.COLOURS[i % len(style.COLOURS)],
      error_kw={"elinewidth": 0.8, "ecolor": "#333333"},
      label=model,
    )
  ax.set_ylabel(_LABELS[metric])
  if metric in ("fr", "t5d"):
    ax.axhline(100, color="#333333", linewidth=0.8, linestyle=":")
  border = len(pivot.common(context)) - 0.5
  if pivot.extra(context) and border > 0:
    ax.axvline(border, color="#999999", linewidth=0.8)
