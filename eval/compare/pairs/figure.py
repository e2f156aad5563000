"""A comparison as a figure: numbers over cells, and a map of the cells.

A blue cell with an upward triangle: the first model is better. An orange cell with
a downward triangle: it is worse. Without a triangle the test decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from etils import epath
from matplotlib.colors import LinearSegmentedColormap

from eval.compare.pairs import lines as lines_lib
from eval.compare.pairs.lines import Comparison, Line
from eval.metrics import definitions
from eval.metrics.definitions import Metric
from robust_tfds.charts import style

if TYPE_CHECKING:
  from matplotlib.axes import Axes

_MARKS = {lines_lib.BETTER: "\u25b2", lines_lib.WORSE: "\u25bc"}
# Light enough for black text at both ends.
_MAP = LinearSegmentedColormap.from_list(
  "comparison", ["#f0a066", "#ffffff", "#73b4dd"]
)
_MAX_MAPS = 2  # metrics with a map of their own
_MIN_RANGE = 2.0  # points; smaller differences never get the full colour
_LINE_IN = 0.24  # height of a bar or a row


def write(comparison: Comparison, folder: epath.Path, stem: str) -> None:
  """Write the figure as PNG and SVG."""
  bars = _bars(comparison)
  maps = _maps(comparison)
  count = len(bars) + len(maps)
  rows = max(
    [*(len(x) for x in bars), *(len(_names(x)) for x in maps.values())],
    default=1,
  )
  fig = style.figure(
    max(4.0, 3.9 * len(bars) + 4.4 * len(maps) + 0.4), _LINE_IN * rows + 1.5
  )
  axes = style.axes(fig, 1, max(count, 1))[0]
  for ax, lines in zip(axes, bars):
    _draw_bars(ax, lines, comparison)
  for ax, (metric, lines) in zip(axes[len(bars) :], maps.items()):
    _draw_map(ax, lines, comparison.facts.metric(metric))
  fig.suptitle(f"{comparison.first} less {comparison.second}", fontsize=10)
  sentences = comparison.sentences[: max(1, len(maps))]
  style.save(fig, folder, stem, [comparison.dataset, *sentences])


def _bars(comparison: Comparison) -> list[list[Line]]:
  """Group the lines into panels: one for percentages, one for other numbers.

  If only clean data were compared, the clean cells are shown too.
  """
  finite = [
    line
    for line in comparison.benchmark
    if math.isfinite(line.difference.or_nan)
  ]
  if comparison.clean_alone:
    named = {line.metric for line in finite}
    finite += [
      line
      for line in comparison.cells
      if line.metric not in named and math.isfinite(line.difference.or_nan)
    ]
  panels: dict[bool, list[Line]] = {}
  for line in finite:
    percent = comparison.facts.metric(line.metric).percent
    panels.setdefault(percent, []).append(line)
  return [panels[key] for key in sorted(panels, reverse=True)]


def _maps(comparison: Comparison) -> dict[str, list[Line]]:
  """Return metric -> lines of its corrupted cells, for the first metrics."""
  out: dict[str, list[Line]] = {}
  for line in comparison.cells:
    if line.corruption:
      out.setdefault(line.metric, []).append(line)
  return dict(list(out.items())[:_MAX_MAPS])


def _draw_bars(ax: Axes, lines: Sequence[Line], comparison: Comparison) -> None:
  """Draw differences with their intervals; markers are filled if 0 lies outside."""
  percent = comparison.facts.metric(lines[0].metric).percent
  scale = 100 if percent else 1
  for y, line in enumerate(lines):
    metric = comparison.facts.metric(line.metric)
    value = scale * line.difference.or_nan
    ends = line.difference.interval
    gain = metric.sign * value
    excludes_0 = ends is not None and not ends[0] <= 0 <= ends[1]
    decided = excludes_0 and gain
    shade = style.COLOURS[0 if gain > 0 else 1] if decided else "#555555"
    if ends:
      ax.plot([scale * x for x in ends], [y, y], color=shade)
    ax.plot(
      value,
      y,
      marker="^" if gain > 0 else "v" if gain < 0 else "o",
      markersize=6,
      color=shade,
      markerfacecolor=shade if excludes_0 else "white",
    )
  ax.axvline(0, color="#444444", linewidth=0.8)
  words = [comparison.words(x) for x in lines]
  ax.set_yticks(range(len(lines)), words)
  ax.tick_params(axis="y", labelsize=7)
  ax.set_ylim(len(lines) - 0.4, -0.6)
  ax.set_xlabel("difference (points)" if percent else "difference")
  ax.set_title("whole benchmark, 95 % intervals", loc="left")


def _names(lines: Sequence[Line]) -> list[str]:
  return list(dict.fromkeys(line.corruption for line in lines))


def _draw_map(ax: Axes, lines: Sequence[Line], metric: Metric) -> None:
  """Draw differences by corruption and level, with triangles if decided."""
  names = _names(lines)
  levels = sorted({line.level or 0 for line in lines})
  scale = 100 if metric.percent else 1
  values = np.full((len(names), len(levels)), np.nan)
  for line in lines:
    place = names.index(line.corruption), levels.index(line.level or 0)
    values[place] = scale * line.difference.or_nan
    digits = 1 if metric.percent else 3
    number = f"{values[place]:+.{digits}f}" if values[place] else "0"
    mark = _MARKS.get(line.test.verdict, "")
    ax.text(
      place[1],
      place[0],
      f"{number}{mark}",
      ha="center",
      va="center",
      fontsize=7,
      color="black",
    )
  least = _MIN_RANGE if metric.percent else 1e-3
  most = max(float(np.nanmax(np.abs(values), initial=0)), least)
  ax.imshow(
    metric.sign * values, cmap=_MAP, vmin=-most, vmax=most, aspect="auto"
  )
  ax.set_xticks(range(len(levels)), [str(level) for level in levels])
  ax.set_yticks(range(len(names)), [definitions.words(n) for n in names])
  ax.tick_params(labelsize=7)
  ax.grid(False)
  unit = ", points" if metric.percent else ""
  marks = f"{_MARKS[lines_lib.BETTER]} better, {_MARKS[lines_lib.WORSE]} worse"
  ax.set_title(f"{metric.heading}{unit} ({marks})", loc="left")
