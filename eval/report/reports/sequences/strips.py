"""Strips: frames of one sequence, and where each model's prediction flips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eval.charts import pictures
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables import pivot
from eval.tables.context import Context
from robust_tfds.charts import style

_FRAMES = 9  # of a strip
_DIFFICULTY = 1
_NAMED_CLASSES = 3  # in the title over the bars


class Strips(base.Pictures):
  """A line a perturbation, at difficulty 1.

  Some of its frames, then for every model a bar of all frames, coloured by the
  predicted class. White lines mark flips: from the frame before, or in noise
  every frame that differs from the first.
  """

  stem = "strips"
  caption = "One example under every perturbation, with the flips"
  reading = (
    "A line is a perturbation: some frames of one sequence, time runs to the right."
    " Beside its name: how often each model changed its mind between frames (in"
    " noise: from the first frame)."
  )

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    return [
      pictures.Line(
        [
          pictures.Picture(video[i], str(i))
          for i in pictures.frames(video, _FRAMES)
        ],
        definitions.words(name),
        note=", ".join(
          f"{model} {len(_flips(context, name, top1))} of {len(top1) - 1}"
          for model, top1 in _predicted(context, name).items()
        ),
      )
      for name, video in _samples(context).items()
    ]

  def folded(
    self, context: Context
  ) -> tuple[Sequence[pictures.Line], Sequence[pictures.Line]]:
    flips = [
      -sum(len(_flips(context, n, x)) for x in _predicted(context, n).values())
      for n in _samples(context)
    ]
    order = np.argsort(flips, kind="stable")
    lines = self.lines(context)
    listed = [lines[i] for i in order]
    return listed[: self.unfolded], listed[self.unfolded :]

  def draw(self, context: Context) -> style.Figure | None:
    samples = _samples(context)
    if not samples:
      return None
    fig = style.figure(13, 1.05 * len(samples) + 0.6)
    widths = [1] * _FRAMES + [5]
    grid = style.axes(fig, len(samples), _FRAMES + 1, width_ratios=widths)
    for axes, line, name in zip(grid, self.lines(context), samples):
      pictures.show(axes[:-1], line)
      _bars(axes[-1], context, name, len(samples[name]))
    return fig


def _samples(context: Context) -> dict[str, np.ndarray]:
  """Name -> the sequence that is shown."""
  keys = {name: (name, _DIFFICULTY) for name in pivot.names(context)}
  samples = context.samples
  return {name: samples[key] for name, key in keys.items() if key in samples}


def _predicted(context: Context, name: str) -> dict[str, np.ndarray]:
  """Model -> the class of every frame."""
  return {
    model: context.predicted[model, name, _DIFFICULTY][:, 0]
    for model in context.models
    if (model, name, _DIFFICULTY) in context.predicted
  }


def _flips(context: Context, name: str, top1: np.ndarray) -> np.ndarray:
  """Frames at which the class is another than before, in noise than at first."""
  reference = top1[:1] if context.family.is_noise(name) else top1[:-1]
  return np.flatnonzero(top1[1:] != reference) + 1


def _bars(ax: style.Axes, context: Context, name: str, frames: int) -> None:
  """A bar a model, a field a frame."""
  style.bare(ax)
  for spine in ax.spines.values():
    spine.set_visible(False)
  predicted = _predicted(context, name)
  if not predicted:
    return
  classes = _commonest_first(np.concatenate(list(predicted.values())))
  colours = {c: style.colour(i) for i, c in enumerate(classes)}
  for y, (model, top1) in enumerate(predicted.items()):
    for x, c in enumerate(top1):
      ax.barh(y, 1, 0.8, left=x, color=colours[c], linewidth=0)
    flips = _flips(context, name, top1)
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
  names = [context.class_name(c) for c in classes[:_NAMED_CLASSES]]
  rest = len(classes) - _NAMED_CLASSES
  more = f" and {rest} more" if rest > 0 else ""
  return f"classes seen: {', '.join(names)}{more}"
