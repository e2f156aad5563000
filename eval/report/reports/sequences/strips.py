"""Strips: frames of one sequence, and how often each model's prediction flips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eval.charts import pictures
from eval.metrics import definitions
from eval.report.reports import base
from eval.tables import pivot
from eval.tables.context import Context

_FRAMES = 9  # of a strip
_DIFFICULTY = 1


class Strips(base.Pictures):
  """A line per perturbation, at difficulty 1; most flips first."""

  stem = "strips"
  caption = "One example under every perturbation, with the flips"
  reading = (
    "A line is a perturbation: some frames of one sequence, time runs to the right."
    " Beside its name: how often each model changed its mind between frames (in"
    " noise: from the first frame)."
  )
  side = 1.05
  name_width = 2.2

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    flips = {
      name: _flips(context, name)
      for name in pivot.names(context)
      if (name, _DIFFICULTY) in context.samples
    }
    order = sorted(flips, key=lambda name: -sum(n for n, _ in flips[name]))
    return [
      pictures.Line(
        [pictures.Picture(video[i], str(i)) for i in shown],
        definitions.words(name),
        note=", ".join(words for _, words in flips[name]),
      )
      for name in order
      for video in [context.samples[name, _DIFFICULTY]]
      for shown in [pictures.frames(video, _FRAMES)]
    ]


def _flips(context: Context, name: str) -> list[tuple[int, str]]:
  """Return each model's number of flips, and the same in words."""
  out = []
  for model in context.models:
    ranked = context.predicted.get((model, name, _DIFFICULTY))
    if ranked is not None:
      top1 = ranked[:, 0]
      before = top1[:1] if context.family.is_noise(name) else top1[:-1]
      count = int(np.count_nonzero(top1[1:] != before))
      out.append((count, f"{model} {count} of {len(top1) - 1}"))
  return out
