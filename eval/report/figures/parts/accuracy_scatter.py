"""Means of a benchmark against accuracy on clean data, a series a mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.papers import Network
from robust_tfds.eval.report.charts import scatter, style
from robust_tfds.eval.report.figures.parts import own, sheet

COLUMNS = (
  *("network", "metric"),
  *(sheet.Column("accuracy"), sheet.Column("value")),
  *(sheet.Column("lo"), sheet.Column("hi")),
  "source",
)
_GREY = "#555555"
_CLEAN = "clean_error"
_AREAS = (42.0, 20.0)  # of markers in turn: equal numbers stay visible


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


def panel(
  points: Sequence[Point], titles: Mapping[str, str], y: str
) -> scatter.Panel:
  """The points, those of one network joined and named once.

  Args:
    points: printed ones and those of runs.
    titles: metric -> what the legend calls it; also the order of the series.
    y: words left of it.
  """
  named: set[str] = set()
  out = []
  for i, (metric, title) in enumerate(titles.items()):
    series = [p for p in points if p.metric == metric]
    for point in sorted(series, key=lambda p: p.run):
      out.append(_drawn(point, i, title, point.network not in named))
    named |= {p.network for p in series}
  return scatter.Panel(out, y=y, margins=(0.16, 0.12), naming=scatter.PLACED)


def _drawn(
  point: Point, index: int, title: str, with_name: bool
) -> scatter.Point:
  """A point of a series; a run's is open, and not in the legend."""
  return scatter.Point(
    style.scaled(point.accuracy),
    style.scaled(point.number),
    index,
    "" if point.run else title,
    point.network if with_name else "",
    hollow=point.run,
    area=_AREAS[index % len(_AREAS)],
    joins=f"{point.network} {point.run}",
    looks={"ink": "black" if point.run else _GREY},
  )
