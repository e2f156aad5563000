"""Bars in groups: a group a condition, in it a bar a model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from robust_tfds.charts import frame as frame_lib
from robust_tfds.charts import style

_LONG: Any = {
  "rotation": 40,
  "ha": "right",
  "fontsize": 7,
  "rotation_mode": "anchor",
}
# The axis ends at so much of the highest bar, where an interval does not.
_ROOM = 2


@dataclasses.dataclass(frozen=True)
class Series:
  """Bars of one colour and hatching.

  Attributes:
    label: in the legend.
    values: one a group, nan where there is none.
    level: a dotted line across: the same of clean examples.
  """

  label: str
  values: Sequence[style.Value]
  level: float | None = None


@dataclasses.dataclass(frozen=True)
class Panel(frame_lib.Panel):
  """A panel of bars.

  Attributes:
    series: of it; of equal length.
    line: a height that is marked, beside 0.
  """

  series: Sequence[Series]
  line: float | None = None


@dataclasses.dataclass(frozen=True)
class Groups:
  """What stands at the groups of bars of every panel.

  Attributes:
    names: below the bars.
    heads: what several groups beside each other belong to, above them.
    common: how many groups there are before a line that ends the common ones.
    slant: whether names are long, and slanted.
    numbers: whether heights are written over the bars.
  """

  names: Sequence[str]
  heads: Sequence[str] = ()
  common: int = 0
  slant: bool = False
  numbers: bool = False


def draw(
  panels: Sequence[Panel], groups: Groups, frame: frame_lib.Frame
) -> style.Figure:
  """A figure of panels of bars: colour and hatching tell series apart."""

  def fill(ax: style.Axes, panel: Panel) -> None:
    for i, series in enumerate(panel.series):
      _bars(ax, len(panel.series), i, series)
    _around(ax, groups)
    if panel.line is not None:
      ax.axhline(panel.line, color="#444444", linewidth=0.8, linestyle="--")
    _cap(ax, panel)

  return frame.draw(panels, fill)


def _bars(ax: style.Axes, count: int, index: int, series: Series) -> None:
  """The bars of one series of some, with whiskers where there are intervals."""
  there = [i for i, v in enumerate(series.values) if not math.isnan(v.value)]
  values = [series.values[i] for i in there]
  width = 0.8 / count
  ax.bar(
    [_middle(i, index, count) for i in there],
    [v.value for v in values],
    width,
    yerr=style.whiskers(values),
    color=style.colour(index),
    hatch=style.hatch(index),
    edgecolor="white",
    linewidth=0.4,
    error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
    label=series.label,
  )
  if series.level is not None:
    ax.axhline(
      series.level,
      color=style.colour(index),
      linewidth=1,
      linestyle=":",
      label=f"{series.label}, clean",
    )


def _middle(group: int, index: int, count: int) -> float:
  """Where across a bar stands: that of one series of some."""
  return group + (index - (count - 1) / 2) * 0.8 / count


def _cap(ax: style.Axes, panel: Panel) -> None:
  """Ends the axis above the bars where an interval would flatten them all.

  An arrow at the top says where such an interval ends.
  """
  bars = [
    (i, g, v)
    for i, s in enumerate(panel.series)
    for g, v in enumerate(s.values)
    if not math.isnan(v.value)
  ]
  highest = max([panel.line or 0, *(v.value for *_, v in bars)])
  top = _ROOM * highest
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


def _around(ax: style.Axes, groups: Groups) -> None:
  """Names below the bars and above them, and what divides them."""
  from matplotlib.container import BarContainer

  count = len(groups.names)
  ax.axhline(0, color="#444444", linewidth=0.8)
  ax.set_xticks(range(count), groups.names, **(_LONG if groups.slant else {}))
  ax.set_xlim(-0.6, count - 0.4)
  ax.grid(False, axis="x")
  if 0 < groups.common < count:
    ax.axvline(groups.common - 0.5, color="#999999", linewidth=0.8)
  _heads(ax, groups.heads)
  if groups.numbers:
    for container in ax.containers:
      if isinstance(container, BarContainer):
        ax.bar_label(container, fmt="%g", fontsize=7)


def _heads(ax: style.Axes, heads: Sequence[str]) -> None:
  """A line between what belongs together, and its name above."""
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
