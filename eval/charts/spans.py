"""Spans: one line per class or model, with several numbers on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from robust_tfds.charts import frame as frame_lib
from robust_tfds.charts import style

_MARKERS = "oDs"
_GAP = 0.22  # between the heights of numbers with intervals, in lines


@dataclasses.dataclass(frozen=True)
class Panel(frame_lib.Panel):
  """A panel of lines, the first at the bottom.

  Attributes:
    names: names of the lines.
    series: label in the legend -> one value per line.
    joined: whether a bar joins the values of the first two series. Otherwise
      each series is at a height of its own, so that whiskers do not overlap.
  """

  names: Sequence[str]
  series: Mapping[str, Sequence[style.Value]]
  joined: bool = True


def draw(panels: Sequence[Panel], frame: frame_lib.Frame) -> style.Figure:
  """Draw panels of spans."""
  return frame.draw(panels, _fill)


def _fill(ax: style.Axes, panel: Panel) -> None:
  if panel.joined:
    for y, (left, right) in enumerate(zip(*panel.series.values())):
      ends = [left.value, right.value]
      ax.plot(ends, [y, y], color="#bbbbbb", linewidth=2, zorder=1)
  for i, (label, values) in enumerate(panel.series.items()):
    shift = 0 if panel.joined else _GAP * (1 - i)
    ax.errorbar(
      [v.value for v in values],
      np.arange(len(values)) + shift,
      xerr=style.whiskers(values),
      fmt=_MARKERS[i],
      color=style.colour(i),
      markersize=4.5,
      elinewidth=0.8,
      label=label,
      zorder=2,
    )
  ax.set_yticks(range(len(panel.names)), panel.names, fontsize=7)
  ax.set_ylim(-0.6, len(panel.names) - 0.4)
