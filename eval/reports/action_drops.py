"""How far accuracy drops under every perturbation, a bar a model (Figure 3)."""

from __future__ import annotations

import pathlib

import numpy as np

from eval import reports
from eval.reports import style

TASKS = ("video",)
PICTURES = (("action_drops.png", "Drop of accuracy under every perturbation"),)


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes action_drops.png and .svg; nothing without perturbations.

  A bar is the clean accuracy less the mean over the run's severities, 1 -
  gamma_a, with the bootstrap interval of gamma_a.
  """
  rows = {
    (r.model, r.corruption): r
    for r in context.rows
    if r.metric == "gamma_a" and r.corruption and not r.config
  }
  names = [n for n in context.corruptions if any(n == c for _, c in rows)]
  if not names:
    return []
  fig = style.figure(max(5.0, 0.62 * len(names) + 1.5), 3.8)
  ax = style.axes(fig, 1, 1)[0, 0]
  width = 0.8 / len(context.models)
  for i, model in enumerate(context.models):
    there = [j for j, n in enumerate(names) if (model, n) in rows]
    own = [rows[model, names[j]] for j in there]
    drops = np.array([100 * (1 - r.value) for r in own])
    ends = np.array(
      [[100 * (1 - (r.hi or 0)), 100 * (1 - (r.lo or 0))] for r in own]
    )
    ax.bar(
      np.array(there) + (i - (len(context.models) - 1) / 2) * width,
      drops,
      width,
      yerr=np.maximum(np.abs(ends.T - drops), 0) if there else None,
      color=style.COLOURS[i % len(style.COLOURS)],
      error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
      label=model,
    )
  _name_groups(ax, [context.groups[n] for n in names])
  ax.axhline(0, color="#444444", linewidth=0.8)
  ax.set_xticks(
    range(len(names)),
    [n.replace("_", " ") for n in names],
    rotation=40,
    ha="right",
    fontsize=7,
  )
  ax.set_ylabel("accuracy lost (points)")
  ax.legend(
    loc="upper left",
    bbox_to_anchor=(0, 1.17),
    ncols=4,
    fontsize=7,
    frameon=False,
  )
  return style.save(fig, folder, "action_drops", context.provenance)


def _name_groups(ax, groups) -> None:
  """A line between groups, and each one's name above its bars."""
  starts = [
    i for i in range(len(groups)) if not i or groups[i] != groups[i - 1]
  ]
  for start, end in zip(starts, [*starts[1:], len(groups)]):
    if start:
      ax.axvline(start - 0.5, color="#999999", linewidth=0.8)
    ax.text(
      (start + end - 1) / 2,
      1.01,
      groups[start],
      transform=ax.get_xaxis_transform(),
      ha="center",
      fontsize=7,
      color="#666666",
    )
