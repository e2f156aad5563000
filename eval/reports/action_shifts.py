"""Accuracy under natural shifts, by category and by shift (UCF101-DS)."""

from __future__ import annotations

import pathlib

import numpy as np

from eval import reports
from eval.reports import leaderboard_markdown
from eval.reports import pivot
from eval.reports import style

TASKS = ("video",)
PICTURES = (("action_shifts.png", "Accuracy by category of shifts"),)
_CATEGORY, _SHIFT = "accuracy/category/", "accuracy/shift/"


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes action_shifts.png, .svg and .md; nothing without shifts."""
  found = {(r.model, r.metric): r for r in context.rows}
  names = _names(found, _CATEGORY)
  if not names:
    return []
  fig = style.figure(max(5.0, 0.62 * len(names) + 1.5), 3.6)
  ax = style.axes(fig, 1, 1)[0, 0]
  width = 0.8 / len(context.models)
  for i, model in enumerate(context.models):
    own = [found[model, _CATEGORY + n] for n in names]
    value = 100 * np.array([r.value for r in own])
    ends = 100 * np.array([[r.lo or 0, r.hi or 0] for r in own])
    ax.bar(
      np.arange(len(names)) + (i - (len(context.models) - 1) / 2) * width,
      value,
      width,
      yerr=np.abs(ends.T - value),
      color=style.COLOURS[i % len(style.COLOURS)],
      error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
      label=model,
    )
  clips = [found[context.models[0], _CATEGORY + n].n for n in names]
  ax.set_xticks(
    range(len(names)),
    [f"{name}\n{count} clips" for name, count in zip(names, clips)],
    rotation=40,
    ha="right",
    fontsize=7,
  )
  ax.set_ylim(0, 100)
  ax.set_ylabel("accuracy (%)")
  ax.legend(fontsize=7)
  written = style.save(fig, folder, "action_shifts", context.provenance)
  text = folder / "action_shifts.md"
  text.write_text(_table(context, found), "utf-8")
  return [*written, text]


def _names(found, prefix) -> list[str]:
  metrics = dict.fromkeys(m for _, m in found if m.startswith(prefix))
  return [m.removeprefix(prefix) for m in metrics]


def _table(context, found) -> str:
  escape = leaderboard_markdown.escape
  parts = ["# Accuracy under natural shifts, in %, with 95 % intervals\n"]
  for heading, prefix in (("Category", _CATEGORY), ("Shift", _SHIFT)):
    heads = [heading, "clips", *context.models]
    parts.append("\n| " + " | ".join(map(escape, heads)) + " |")
    parts.append("|---" * len(heads) + "|")
    for name in _names(found, prefix):
      own = [found[m, prefix + name] for m in context.models]
      cells = [
        f"{pivot.percent(r.value)} ({pivot.percent(r.lo)}"
        f" to {pivot.percent(r.hi)})"
        for r in own
      ]
      parts.append(
        "| " + " | ".join([escape(name), str(own[0].n), *cells]) + " |"
      )
  parts.append(f"\n{escape('; '.join(context.provenance))}\n")
  return "\n".join(parts)
