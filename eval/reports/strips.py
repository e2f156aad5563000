"""Strips: frames of one sequence, and where each model's prediction flips."""

from __future__ import annotations

import pathlib

import numpy as np

from eval import reports
from eval.reports import pivot
from eval.reports import style

TASKS = ("sequences",)
PICTURES = (
  ("strips.png", "One example under every perturbation, with the flips"),
)
_SHOWN = 9  # frames of a strip


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes strips.png and .svg; nothing without sequences.

  A row is one perturbation at difficulty 1: some of its frames, then for every
  model a bar of all frames, coloured by the predicted class. White lines mark
  flips: from the frame before, or in noise every frame that differs from the
  first.
  """
  names = [
    n
    for n in (*pivot.common(context), *pivot.extra(context))
    if (n, 1) in context.samples
  ]
  if not names:
    return []
  fig = style.figure(13, 1.05 * len(names) + 0.6)
  widths = [1] * _SHOWN + [5]
  grid = style.axes(fig, len(names), _SHOWN + 1, width_ratios=widths)
  for row, name in zip(grid, names):
    frames = context.samples[name, 1]
    chosen = np.linspace(0, len(frames) - 1, _SHOWN).round().astype(int)
    for ax, index in zip(row, chosen):
      _bare(ax)
      ax.imshow(frames[index], interpolation="nearest")
      ax.set_title(str(index), fontsize=6, pad=1)
    row[0].set_ylabel(
      name.replace("_", " "), rotation=0, ha="right", va="center"
    )
    _bars(row[-1], context, name, len(frames))
  return style.save(fig, folder, "strips", context.provenance)[:1]


def _bars(ax, context, name, frames):
  """One line of cells a model, one cell a frame."""
  _bare(ax)
  models = [m for m in context.models if (m, name, 1) in context.predicted]
  if not models:
    return
  top1 = np.stack([context.predicted[m, name, 1][:, 0] for m in models])
  # The commonest class first: colours follow how long a class is seen.
  classes, counts = np.unique(top1, return_counts=True)
  order = classes[np.argsort(-counts, kind="stable")]
  colour = {
    c: style.COLOURS[i % len(style.COLOURS)] for i, c in enumerate(order)
  }
  for y, (model, line) in enumerate(zip(models, top1)):
    for x, c in enumerate(line):
      ax.barh(y, 1, 0.8, left=x, color=colour[c], linewidth=0)
    before = line[:1] if name.endswith("noise") else line[:-1]
    flips = np.flatnonzero(line[1:] != before) + 1
    ax.vlines(flips, y - 0.4, y + 0.4, color="white", linewidth=1.2)
    text = f"{model}: {len(flips)} of {frames - 1}"
    ax.text(frames + 0.5, y, text, fontsize=6, va="center", color="#333333")
  ax.set_xlim(0, frames * 1.45)
  ax.set_ylim(len(models) - 0.5, -0.5)
  listed = [_class(context, c) for c in order[:3]]
  more = f" and {len(order) - 3} more" if len(order) > 3 else ""
  ax.set_title(
    f"classes seen: {', '.join(listed)}{more}", fontsize=6, pad=1, loc="left"
  )


def _class(context, index) -> str:
  if 0 <= index < len(context.class_names):
    return context.class_names[index]
  return str(index)


def _bare(ax):
  ax.set_xticks([])
  ax.set_yticks([])
  ax.grid(False)
  for spine in ax.spines.values():
    spine.set_visible(False)
