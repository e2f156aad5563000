"""Reliability diagrams: clean, and every severity of the common conditions.

A line of panels a model. In a panel the accuracy of the examples in each bin of
their top score, with the diagonal on which a calibrated model lies, and below how
many examples are in each bin; markers stand at the mean score, with the interval of
the accuracy where examples stand alone. Of a severity the examples of all common
conditions are pooled: each counts as often as it is shown, and the panel says how
many conditions that are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds.eval.metrics import calibration
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context

_STEM = "reliability"
_TICKS = (0, 0.25, 0.5, 0.75, 1)


@dataclasses.dataclass(frozen=True)
class Panel:
  """One diagram.

  Attributes:
    title: of which examples.
    bins: of them.
  """

  title: str
  bins: calibration.Bins


def panels(context: Context, model: str) -> list[Panel]:
  """Clean, then the common conditions of each severity; those that are there."""
  of = {k[1:]: bins for k, bins in context.reliability.items() if k[0] == model}
  out = [Panel("clean", bins) for (name, _), bins in of.items() if not name]
  levels = sorted({level for name, level in of if name in context.common})
  for level in levels:
    cells = [of[n, level] for n in context.common if (n, level) in of]
    count, whole = len(cells), len(context.common + context.missing)
    plural = "s" * (whole != 1)
    lacking = "" if count == whole else f"{count} of "
    title = f"severity {level}, {lacking}{whole} {context.facts.noun}{plural}"
    out.append(Panel(title, calibration.pooled(cells)))
  return out


def write(context: Context, folder: epath.Path) -> Sequence[epath.Path]:
  """Writes reliability.png and .svg; nothing where no scores are known."""
  of = {model: panels(context, model) for model in context.models}
  of = {model: listed for model, listed in of.items() if listed}
  if not of:
    return []
  columns = max(map(len, of.values()))
  fig = style.figure(max(2.1 * columns + 0.9, 4.5), 3.0 * len(of) + 0.5)
  grid = style.axes(
    fig,
    2 * len(of),
    columns,
    sharex=True,
    sharey="row",
    gridspec_kw={"height_ratios": [3, 1] * len(of)},
  )
  for line, (model, listed) in enumerate(of.items()):
    upper, lower = grid[2 * line], grid[2 * line + 1]
    most = max(max(panel.bins.count) for panel in listed)
    for i, (top, bottom) in enumerate(zip(upper, lower)):
      if i >= len(listed):
        top.set_visible(False)
        bottom.set_visible(False)
        continue
      _diagram(top, listed[i], context.models.index(model))
      _counts(bottom, listed[i], context.models.index(model), most)
    upper[0].set_ylabel(f"{model}\naccuracy (%)")
    lower[0].set_ylabel("examples")
  return style.save(fig, folder, _STEM, context.provenance)


def _diagram(ax: style.Axes, panel: Panel, index: int) -> None:
  bins, edges = panel.bins, np.array(panel.bins.edges)
  there = [b for b, n in enumerate(bins.count) if n]
  accuracy = 100 * np.array([bins.accuracy[b] for b in there], float)
  score = np.array([bins.confidence[b] for b in there], float)
  ax.bar(
    edges[there],
    accuracy,
    width=edges[1],
    align="edge",
    color=style.colour(index),
    alpha=0.35,
    linewidth=0,
  )
  ax.plot([0, 1], [0, 100], color="#555555", linestyle="--", linewidth=0.8)
  ax.errorbar(
    score,
    accuracy,
    yerr=_whiskers(bins, there, accuracy),
    color=style.colour(index),
    marker=style.marker(index),
    markersize=3,
    linestyle="none",
    elinewidth=0.7,
  )
  n = sum(bins.count)
  ax.set_title(
    f"{panel.title}\nECE {100 * bins.ece:.1f} %, n = {n:,}",
    loc="left",
    fontsize=8,
  )
  ax.set_xlim(0, 1)
  ax.set_ylim(0, 100)


def _whiskers(
  bins: calibration.Bins, there: Sequence[int], accuracy: np.ndarray
) -> np.ndarray | None:
  """From the accuracies to the ends of their intervals, in %."""
  if not bins.lo or not bins.hi:
    return None
  ends = 100 * np.array(
    [[e[b] for b in there] for e in (bins.lo, bins.hi)], float
  )
  return np.abs(ends - accuracy)


def _counts(ax: style.Axes, panel: Panel, index: int, most: int) -> None:
  bins = panel.bins
  ax.bar(
    bins.edges[:-1],
    bins.count,
    width=bins.edges[1],
    align="edge",
    color=style.colour(index),
    linewidth=0,
  )
  ax.set_yscale("log")  # most scores are high, and one example is seen too
  digits = range(0, len(str(most)) + 1, 2)
  ax.set_yticks([10**d for d in digits], [f"{10**d:,}" for d in digits])
  ax.minorticks_off()
  ax.set_ylim(0.5, 2 * most)
  ax.set_xlabel("top score")
  ax.set_xticks(_TICKS, [f"{t:g}" for t in _TICKS])
