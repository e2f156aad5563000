"""Spans: a line a class or model, with several numbers on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from robust_tfds.charts import frame as frame_lib
from robust_tfds.charts import style

_MARKERS = "oDs"
_APART = 0.22  # of numbers with intervals, across a line


@dataclasses.dataclass(frozen=True)
class Panel(frame_lib.Panel):
  """A panel of lines that are read from below.

  Attributes:
    names: of the lines.
    series: what the legend calls it -> a value a line.
    joined: whether a bar leads from the first series to the second; else each
      series has a height of its own on the line, for its whiskers.
  """

  names: Sequence[str]
  series: Mapping[str, Sequence[style.Value]]
  joined: bool = True


def draw(panels: Sequence[Panel], frame: frame_lib.Frame) -> style.Figure:
  """A figure of panels of spans."""
  return frame.draw(panels, _panel)


def _panel(ax: style.Axes, panel: Panel) -> None:
  if panel.joined:
    for y, (one, two) in enumerate(zip(*panel.series.values())):
      ends = [one.value, two.value]
      ax.plot(ends, [y, y], color="#bbbbbb", linewidth=2, zorder=1)
  for i, (label, values) in enumerate(panel.series.items()):
    _series(ax, i, label, values, 0 if panel.joined else _APART * (1 - i))
  ax.set_yticks(range(len(panel.names)), panel.names, fontsize=7)
  ax.set_ylim(-0.6, len(panel.names) - 0.4)


def _series(
  ax: style.Axes,
  index: int,
  label: str,
  values: Sequence[style.Value],
  shift: float,
) -> None:
  ax.errorbar(
    [v.value for v in values],
    np.arange(len(values)) + shift,
    xerr=style.whiskers(values),
    fmt=_MARKERS[index],
    color=style.colour(index),
    markersize=4.5,
    elinewidth=0.8,
    label=label,
    zorder=2,
  )
