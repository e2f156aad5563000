"""Strips: frames of one sequence, and where each model's prediction flips."""

from __future__ import annotations

import numpy as np

from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.report.charts import pictures, style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.reports import base
from robust_tfds.eval.report.tables import pivot

_FRAMES = 9  # of a strip
_DIFFICULTY = 1
_NAMED_CLASSES = 3  # in the title over the bars


class Strips(base.Chart):
  """A line a perturbation, at difficulty 1.

  Some of its frames, then for every model a bar of all frames, coloured by the
  predicted class. White lines mark flips: from the frame before, or in noise
  every frame that differs from the first.
  """

  stem = "strips"
  caption = "One example under every perturbation, with the flips"

  def draw(self, context: Context) -> style.Figure | None:
    """None without sequences."""
    names = [
      n for n in pivot.names(context) if (n, _DIFFICULTY) in context.samples
    ]
    if not names:
      return None
    fig = style.figure(13, 1.05 * len(names) + 0.6)
    widths = [1] * _FRAMES + [5]
    grid = style.axes(fig, len(names), _FRAMES + 1, width_ratios=widths)
    for axes, name in zip(grid, names):
      video = context.samples[name, _DIFFICULTY]
      shown = [
        pictures.Picture(video[i], str(i))
        for i in pictures.frames(video, _FRAMES)
      ]
      pictures.show(axes[:-1], pictures.Line(shown, definitions.words(name)))
      _bars(axes[-1], context, name, len(video))
    return fig


def _bars(ax: style.Axes, context: Context, name: str, frames: int) -> None:
  """A bar a model, a field a frame."""
  style.bare(ax)
  for spine in ax.spines.values():
    spine.set_visible(False)
  predicted = {
    model: context.predicted[model, name, _DIFFICULTY][:, 0]
    for model in context.models
    if (model, name, _DIFFICULTY) in context.predicted
  }
  if not predicted:
    return
  classes = _commonest_first(np.concatenate(list(predicted.values())))
  colours = {c: style.colour(i) for i, c in enumerate(classes)}
  for y, (model, top1) in enumerate(predicted.items()):
    for x, c in enumerate(top1):
      ax.barh(y, 1, 0.8, left=x, color=colours[c], linewidth=0)
    reference = top1[:1] if context.family.is_noise(name) else top1[:-1]
    flips = np.flatnonzero(top1[1:] != reference) + 1
    ax.vlines(flips, y - 0.4, y + 0.4, color="white", linewidth=1.2)
    text = f"{model}: {len(flips)} of {frames - 1}"
    ax.text(frames + 0.5, y, text, fontsize=6, va="center", color="#333333")
  ax.set_xlim(0, frames * 1.45)
  ax.set_ylim(len(predicted) - 0.5, -0.5)
  ax.set_title(_legend(context, classes), fontsize=6, pad=1, loc="left")


def _commonest_first(classes: np.ndarray) -> np.ndarray:
  """The classes that occur, so that colours follow how often each is seen."""
  unique, counts = np.unique(classes, return_counts=True)
  return unique[np.argsort(-counts, kind="stable")]


def _legend(context: Context, classes: np.ndarray) -> str:
  names = [_class(context, c) for c in classes[:_NAMED_CLASSES]]
  rest = len(classes) - _NAMED_CLASSES
  more = f" and {rest} more" if rest > 0 else ""
  return f"classes seen: {', '.join(names)}{more}"


def _class(context: Context, index: int) -> str:
  if 0 <= index < len(context.class_names):
    return context.class_names[index]
  return str(index)
