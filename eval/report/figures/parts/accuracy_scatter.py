"""Means of a benchmark against accuracy on clean data, a series a mean."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

from robust_tfds.eval.compare.boards.board import Number
from robust_tfds.eval.papers import Network
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures.parts import labels, own, sheet

COLUMNS = (
  *("network", "metric"),
  *(sheet.Column("accuracy"), sheet.Column("value")),
  *(sheet.Column("lo"), sheet.Column("hi")),
  "source",
)
_GREY = "#555555"
_CLEAN = "clean_error"
_STEPS = 24  # along a line
_SIZES = (6.5, 4.5)  # of markers in turn: equal numbers stay visible


@dataclasses.dataclass(frozen=True)
class Point:
  """A network: accuracy on clean data and a mean of the benchmark.

  Attributes:
    network: its label.
    metric: name of the mean.
    accuracy: on clean data.
    number: the mean.
    source: where both are from.
    run: whether it is a run's.
  """

  network: str
  metric: str
  accuracy: Number
  number: Number
  source: str
  run: bool = False

  def line(self) -> list[sheet.Cell]:
    """Of the CSV."""
    number = self.number
    return [
      *(self.network, self.metric, self.accuracy.value),
      *(number.value, number.lo, number.hi, self.source),
    ]


def printed(networks: Sequence[Network], metrics: Sequence[str]) -> list[Point]:
  """The printed networks that have a clean error and the means."""
  return [
    Point(
      network.label,
      metric,
      Number(1 - network.numbers[_CLEAN, ""].value),
      Number(network.numbers[metric, ""].value),
      network.numbers[metric, ""].source,
    )
    for network in networks
    for metric in metrics
    if {(_CLEAN, ""), (metric, "")} <= network.numbers.keys()
  ]


def runs(models: Sequence[own.Own], metrics: Sequence[str]) -> list[Point]:
  """The models of runs that have them."""
  out = []
  for model in models:
    error = model.number(_CLEAN)
    for metric in metrics:
      number = model.number(metric)
      if error and number:
        lo, hi = _complement(error.hi), _complement(error.lo)
        accuracy = Number(_complement(error.value), lo, hi)
        out.append(
          Point(model.label, metric, accuracy, number, model.source, run=True)
        )
  return out


def _complement(value: float | None) -> float | None:
  return None if value is None else 1 - value


def draw(
  ax: style.Axes, points: Sequence[Point], titles: Mapping[str, str]
) -> None:
  """Draws the points, and joins those of one network; `name` names them.

  Args:
    ax: matplotlib's; one panel.
    points: printed ones and those of runs.
    titles: metric -> what the legend calls it; also the order of the series.
  """
  _join(ax, points)
  for i, (metric, title) in enumerate(titles.items()):
    series = [p for p in points if p.metric == metric]
    listed = [_place(p) for p in series if not p.run]
    ax.plot(
      [x for x, _ in listed],
      [y for _, y in listed],
      color=style.colour(i),
      marker=style.marker(i),
      markersize=_SIZES[i % len(_SIZES)],
      linestyle="none",
      label=title,
    )
    for point in series:
      if point.run:
        _own_point(ax, point, i)
  ax.set_xlabel("accuracy on clean data (%)")
  ax.margins(0.16, 0.12)
  ax.autoscale_view()
  ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(titles))


def _join(ax: style.Axes, points: Sequence[Point]) -> None:
  """A thin line between the numbers of one network."""
  for places in _by_network(points):
    xs, ys = zip(*places, strict=True)
    ax.plot(xs, ys, color="#bbbbbb", linewidth=0.7, zorder=1)


def _by_network(
  points: Sequence[Point],
) -> list[list[tuple[float, float]]]:
  of: dict[tuple[str, bool], list[tuple[float, float]]] = {}
  for point in points:
    of.setdefault((point.network, point.run), []).append(_place(point))
  return list(of.values())


def _own_point(ax: style.Axes, point: Point, index: int) -> None:
  """A run's model: an open marker with whiskers."""
  ax.errorbar(
    [100 * (point.accuracy.value or 0)],
    [100 * (point.number.value or 0)],
    xerr=_whiskers(point.accuracy),
    yerr=_whiskers(point.number),
    color=style.colour(index),
    marker=style.marker(index),
    markerfacecolor="white",
    markersize=5,
    elinewidth=0.8,
  )


def _whiskers(number: Number) -> list[list[float]] | None:
  if number.lo is None or number.hi is None or number.value is None:
    return None
  return [
    [100 * max(0.0, number.value - number.lo)],
    [100 * max(0.0, number.hi - number.value)],
  ]


def name(
  ax: style.Axes, points: Sequence[Point], metrics: Sequence[str]
) -> None:
  """A network's name beside its point of the first series that has it.

  Args:
    ax: that they were drawn on, in a figure that is finished.
    points: as they were drawn.
    metrics: in the order of the series.
  """
  named: dict[str, Point] = {}
  for metric in reversed(metrics):
    named |= {p.network: p for p in points if p.metric == metric}
  chosen = list(named.values())
  labels.place(
    ax,
    [_place(p) for p in chosen],
    [p.network for p in chosen],
    [_GREY if not p.run else "black" for p in chosen],
    [place for line in _lines(points) for place in _along(line)],
  )


def _lines(points: Sequence[Point]) -> list[list[tuple[float, float]]]:
  """Ends of all that is drawn as a line: between numbers, and whiskers."""
  out = _by_network(points)
  for point in points:
    x, y = _place(point)
    across, along = _ends(point.accuracy), _ends(point.number)
    if point.run and across:
      out.append([(end, y) for end in across])
    if point.run and along:
      out.append([(x, end) for end in along])
  return out


def _ends(number: Number) -> list[float]:
  if number.lo is None or number.hi is None:
    return []
  return [100 * number.lo, 100 * number.hi]


def _along(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
  """Points on the lines between places, which no name should hide."""
  out = list(places)
  for (x0, y0), (x1, y1) in itertools.pairwise(places):
    for i in range(1, _STEPS):
      part = i / _STEPS
      out.append((x0 + part * (x1 - x0), y0 + part * (y1 - y0)))
  return out


def _place(point: Point) -> tuple[float, float]:
  return 100 * (point.accuracy.value or 0), 100 * (point.number.value or 0)
