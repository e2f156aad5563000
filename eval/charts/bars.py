"""Bars in groups: a group a condition, in it a bar a model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from robust_tfds.charts import frame as frame_lib
from robust_tfds.charts import style

_SLANTED: Any = {
  "rotation": 40,
  "ha": "right",
  "fontsize": 7,
  "rotation_mode": "anchor",
}
# The axis ends at this multiple of the highest bar if an interval is longer.
_MAX_HEADROOM = 2


@dataclasses.dataclass(frozen=True)
class Series:
  """Bars of one colour and hatching.

  Attributes:
    label: in the legend.
    values: one a group; nan: no bar.
  """

  label: str
  values: Sequence[style.Value]


@dataclasses.dataclass(frozen=True)
class Panel(frame_lib.Panel):
  """A panel of bars.

  Attributes:
    series: all of equal length.
    line: a height to mark besides 0.
  """

  series: Sequence[Series]
  line: float | None = None


@dataclasses.dataclass(frozen=True)
class Groups:
  """The labels of the groups of bars, the same in every panel.

  Attributes:
    names: below the bars.
    heads: above them; neighbours of one head share it.
    slant: whether the names are long, and therefore slanted.
    numbers: whether each bar has its height as a number above it.
  """

  names: Sequence[str]
  heads: Sequence[str] = ()
  slant: bool = False
  numbers: bool = False


def draw(
  panels: Sequence[Panel], groups: Groups, frame: frame_lib.Frame
) -> style.Figure:
  """Draw panels of bars, whose series differ in colour and hatching."""

  def fill(ax: style.Axes, panel: Panel) -> None:
    for i, series in enumerate(panel.series):
      _draw_series(ax, len(panel.series), i, series)
    _label_groups(ax, groups)
    if panel.line is not None:
      ax.axhline(panel.line, color="#444444", linewidth=0.8, linestyle="--")
    _cap(ax, panel)

  return frame.draw(panels, fill)


def _draw_series(
  ax: style.Axes, count: int, index: int, series: Series
) -> None:
  drawn = {i: v for i, v in enumerate(series.values) if not math.isnan(v.value)}
  ax.bar(
    [_middle(i, index, count) for i in drawn],
    [v.value for v in drawn.values()],
    0.8 / count,
    yerr=style.whiskers([*drawn.values()]),
    color=style.colour(index),
    hatch=style.hatch(index),
    edgecolor="white",
    linewidth=0.4,
    error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
    label=series.label,
  )


def _middle(group: int, index: int, count: int) -> float:
  """Return the x of the bar of series `index` of `count` in a group."""
  return group + (index - (count - 1) / 2) * 0.8 / count


def _cap(ax: style.Axes, panel: Panel) -> None:
  """End the axis above the bars if an interval would flatten them all.

  An arrow at the top shows where such an interval ends.
  """
  bars = [
    (i, g, v)
    for i, s in enumerate(panel.series)
    for g, v in enumerate(s.values)
    if not math.isnan(v.value)
  ]
  highest = max([panel.line or 0, *(v.value for *_, v in bars)])
  top = _MAX_HEADROOM * highest
  beyond = [(i, g, v.hi) for i, g, v in bars if v.hi is not None and v.hi > top]
  if not beyond or highest <= 0:
    return
  ax.set_ylim(top=top)
  for i, group, hi in beyond:
    ax.annotate(
      f"↑{hi:,.0f}",
      (_middle(group, i, len(panel.series)), top),
      ha="center",
      va="top",
      fontsize=6,
      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )


def _label_groups(ax: style.Axes, groups: Groups) -> None:
  from matplotlib.container import BarContainer

  count = len(groups.names)
  ax.axhline(0, color="#444444", linewidth=0.8)
  looks = _SLANTED if groups.slant else {}
  ax.set_xticks(range(count), groups.names, **looks)
  ax.set_xlim(-0.6, count - 0.4)
  ax.grid(False, axis="x")
  _label_heads(ax, groups.heads)
  if groups.numbers:
    for container in ax.containers:
      if isinstance(container, BarContainer):
        ax.bar_label(container, fmt="%g", fontsize=7)


def _label_heads(ax: style.Axes, heads: Sequence[str]) -> None:
  """Write each head above its groups, and draw lines between different heads."""
  starts = [i for i in range(len(heads)) if not i or heads[i] != heads[i - 1]]
  for start, end in zip(starts, [*starts[1:], len(heads)]):
    if start:
      ax.axvline(start - 0.5, color="#999999", linewidth=0.8)
    ax.text(
      (start + end - 1) / 2,
      1.01,
      heads[start],
      transform=ax.get_xaxis_transform(),
      ha="center",
      fontsize=7,
      color="#444444",
    )
