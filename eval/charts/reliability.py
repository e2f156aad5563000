"""Reliability diagrams: the accuracy of examples by their top score.

A row of panels per model. A panel shows the accuracy in each bin of the top score,
and the diagonal on which a calibrated model lies. Markers are at the mean score of a
bin, with the interval of the accuracy if examples are independent. Below is the
number of examples in each bin.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from eval.metrics import calibration
from robust_tfds.charts import style

_TICKS = (0, 0.25, 0.5, 0.75, 1)


@dataclasses.dataclass(frozen=True)
class Panel:
  """A diagram of some examples.

  Attributes:
    title: which examples.
    bins: their scores and answers.
  """

  title: str
  bins: calibration.Bins


@dataclasses.dataclass(frozen=True)
class Line:
  """The diagrams of a model.

  Attributes:
    model: its label.
    index: chooses colour and marker.
    panels: from left to right.
  """

  model: str
  index: int
  panels: Sequence[Panel]


def draw(lines: Sequence[Line]) -> style.Figure:
  """Draw a row of diagrams per model."""
  columns = max(len(line.panels) for line in lines)
  fig = style.figure(max(2.1 * columns + 0.9, 4.5), 3.0 * len(lines) + 0.5)
  grid = style.axes(
    fig,
    2 * len(lines),
    columns,
    sharex=True,
    sharey="row",
    gridspec_kw={"height_ratios": [3, 1] * len(lines)},
  )
  for ax in grid.flat:
    ax.set_visible(False)
  for upper, lower, line in zip(grid[::2], grid[1::2], lines):
    most = max(max(panel.bins.count) for panel in line.panels)
    for top, bottom, panel in zip(upper, lower, line.panels):
      top.set_visible(True)
      bottom.set_visible(True)
      _draw_diagram(top, panel, line.index)
      _draw_counts(bottom, panel, line.index, most)
    upper[0].set_ylabel(f"{line.model}\naccuracy (%)")
    lower[0].set_ylabel("examples")
  return fig


def _draw_diagram(ax: style.Axes, panel: Panel, index: int) -> None:
  bins, edges = panel.bins, np.array(panel.bins.edges)
  filled = [b for b, n in enumerate(bins.count) if n]
  accuracy = 100 * np.array([bins.accuracy[b] for b in filled], float)
  score = np.array([bins.confidence[b] for b in filled], float)
  ax.bar(
    edges[filled],
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
    yerr=_whiskers(bins, filled, accuracy),
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
  bins: calibration.Bins, filled: Sequence[int], accuracy: np.ndarray
) -> np.ndarray | None:
  """Return the distances of the accuracies to their interval ends, in %."""
  if not bins.lo or not bins.hi:
    return None
  ends = 100 * np.array(
    [[e[b] for b in filled] for e in (bins.lo, bins.hi)], float
  )
  return np.abs(ends - accuracy)


def _draw_counts(ax: style.Axes, panel: Panel, index: int, most: int) -> None:
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
