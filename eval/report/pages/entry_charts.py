"""Charts of an entry's page: over severity, over parts like k, of calibration.

The severity chart shows corruptions side by side, each from clean to the hardest level,
with the 95 % interval and, dashed, the median of the board's entries. The numbers stand
in the page's tables.
"""

import math
import re
from collections.abc import Mapping, Sequence

from eval.cells.number import Number
from eval.compare.boards.board import Entry
from eval.metrics import calibration, definitions
from eval.metrics.calibration import Bins
from eval.metrics.definitions import Metric
from eval.report.pages import view as view_lib
from eval.tables import numbers as numbers_lib
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import ABOVE, Frame
from robust_tfds.charts.svg import Chart
from robust_tfds.conditions import Condition, Family

_FEWEST = 2  # points of a line
_DASHED = {
  "color": "#555555",
  "linestyle": "--",
  "linewidth": 0.8,
  "marker": "",
}
# `acc_pmk/k=3`, but not classes, whose numbers have no order.
_PART = re.compile(
  r"(?P<metric>[^=]+)/(?P<over>(?!class=)\w+)=(?P<place>[+-]?\d+(\.\d+)?)"
)


def severity_chart(view: view_lib.View, entry: Entry) -> list[Chart]:
  """Return a chart of all corruptions, or [] without levels to compare."""
  metric = view.shown(view.main_cell)
  shown = {
    name: values
    for name in view.corruptions
    if len(values := _by_level(view, entry, metric, name)) >= _FEWEST
  }
  if not shown:
    return []
  step = 2 + max(level for values in shown.values() for level in values)
  starts = {name: step * place for place, name in enumerate(shown)}
  medians = _medians(view, metric)
  drawn = []
  for name, values in shown.items():
    x = [starts[name] + level for level in values]
    words = definitions.words(name)
    drawn.append(lines.Line(words, x, [*values.values()], 0, names=[*values]))
  if medians:
    drawn.append(_median_line(medians, starts, step))
  names = [
    (start + step / 2 - 1, _words(view, name)) for name, start in starts.items()
  ]
  frame = Frame(
    *(0.5 + 0.6 * len(shown), 2.2),
    x_ends=(-1, len(shown) * step - 1),
    y_ends=_ends([v for line in drawn for v in line.values]),
    x_ticks=([], None),
    margins=(0.4, 0.5, 0.1, 0.1),
  )
  panel = lines.Panel(drawn, names=names)
  return [_chart(metric.heading, panel, frame)]


def _words(view: view_lib.View, name: str) -> str:
  """Return a corruption in words, with its set where that is not the common one."""
  row, words = view.board.family.row(name), definitions.words(name)
  return words if row.set == "common" else f"{words} ({row.set})"


def _median_line(
  medians: Mapping[tuple[str, int], float],
  starts: Mapping[str, int],
  step: int,
) -> lines.Line:
  """Return the dashed line of medians, which is broken between corruptions."""
  points = {}
  for name, start in starts.items():
    for level in range(step):
      value = medians.get((name if level else "", level), math.nan)
      points[start + level] = style.Value(value)
  label = "_median of all models"
  return lines.Line(label, [*points], [*points.values()], 0, looks=_DASHED)


def _by_level(
  view: view_lib.View, entry: Entry, metric: Metric, name: str
) -> dict[int, style.Value]:
  """Return level -> value of a corruption; level 0 is clean."""
  places = [Condition(), *(c for c in view.conditions if c.name == name)]
  numbers = {c.level: view_lib.cell(entry, c, metric.name) for c in places}
  return {x: _value(metric, n) for x, n in numbers.items() if _has(n)}


def _medians(
  view: view_lib.View, metric: Metric
) -> dict[tuple[str, int], float]:
  """Return (corruption, level) -> the median of the board's entries, as shown."""
  return {
    (c.name, c.level): numbers_lib.scaled(metric, value)
    for c, value in view.medians.items()
  }


def part_charts(view: view_lib.View, entry: Entry) -> list[Chart]:
  """Return charts of metrics of many parts: `acc_pmk/k=3` is one over k."""
  families: dict[tuple[str, str], dict[float, Number]] = {}
  for cells in entry.cells.values():
    for name, number in cells.items():
      match = _PART.fullmatch(name)
      if match and _has(number):
        family = families.setdefault((match["metric"], match["over"]), {})
        family[float(match["place"])] = number
  charts = []
  for (name, over), points in families.items():
    if len(points) <= _FEWEST:
      continue
    places = sorted(points)
    metric = view.shown(f"{name}/{over}={places[0]:g}")
    values = [_value(metric, points[x]) for x in places]
    heading = metric.heading.partition(",")[0]
    line = lines.Line(heading, places, values, 0)
    title = f"{heading} by {definitions.words(over)}"
    frame = Frame(
      *(3.4, 2.0),
      x=definitions.words(over),
      y_ends=_ends(values),
      margins=(0.5, 0.45, 0.1, 0.1),
    )
    charts.append(_chart(title, lines.Panel([line]), frame))
  return charts


def reliability_chart(
  reliability: Mapping[Condition, Bins], family: Family
) -> list[Chart]:
  """Return a chart with a line for clean data and for each level, or [].

  Lines of a level pool all common corruptions: every example counts once.
  """
  pools: dict[int, list[Bins]] = {}
  for condition, bins in reliability.items():
    if any(bins.count) and (
      condition.clean or family.row(condition.name).set == "common"
    ):
      pools.setdefault(condition.level, []).append(bins)
  if not pools:
    return []
  ends = [style.Value(0), style.Value(100)]
  drawn = [lines.Line("_calibrated", [0, 100], ends, 0, looks=_DASHED)]
  for index, level in enumerate(sorted(pools)):
    pool = calibration.pooled(pools[level])
    name = f"{family.level_noun} {level}" if level else "clean"
    label = f"{name}: ECE {100 * pool.ece:.1f} %, n = {sum(pool.count):,}"
    points = [
      (100 * score, style.Value(100 * accuracy))
      for score, accuracy in zip(pool.confidence, pool.accuracy)
      if score is not None and accuracy is not None
    ]
    scores, shares = [x for x, _ in points], [y for _, y in points]
    drawn.append(lines.Line(label, scores, shares, index))
  frame = Frame(
    *(3.7, 4.2),
    x="top score, mean of a bin (%)",
    y="accuracy (%)",
    x_ends=(0, 100),
    y_ends=(0, 100),
    legend=ABOVE,
    entries=1,
    margins=(0.6, 0.5, 0.1, 1.2),
  )
  return [_chart("Accuracy by top score", lines.Panel(drawn), frame)]


def _has(number: Number | None) -> bool:
  return numbers_lib.has_value(number)


def _value(metric: Metric, number: Number | None) -> style.Value:
  """Return a number in shown units, its interval without the value if unknown."""
  value = numbers_lib.scaled(metric, numbers_lib.value_of(number) or 0.0)
  ends = numbers_lib.ends(number) or ()
  return style.Value(value, *(numbers_lib.scaled(metric, end) for end in ends))


def _ends(values: Sequence[style.Value]) -> tuple[float, float]:
  """Return the ends of an axis: 0, or below the least, and above the largest."""
  least = min([0.0, *(v.value if v.lo is None else v.lo for v in values)])
  most = max([0.0, *(v.value if v.hi is None else v.hi for v in values)])
  return least, 1.05 * most or 1.0


def _chart(title: str, panel: lines.Panel, frame: Frame) -> Chart:
  """Return a chart whose label says where each line begins and ends."""
  texts = [
    f"{line.label} {line.values[0].value:.3g} to {line.values[-1].value:.3g}"
    for line in panel.lines
    if not line.label.startswith("_")
  ]
  svg = style.svg_text(lines.draw([panel], frame), title)
  return Chart(title, f"{title}: {'; '.join(texts)}", svg)
