"""Means of a benchmark over accuracy on clean data, a series a mean."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from eval import papers
from eval.cells.number import Number
from eval.charts import scatter
from eval.metrics import definitions
from eval.papers import doubt
from eval.report.figures import base
from eval.report.figures.parts import own, printed, sheet
from robust_tfds.charts import style
from robust_tfds.charts.frame import OVER, Frame

_TASKS = {"imagenet_c": "classification", "imagenet_p": "sequences"}
# Data set -> label of the y axis, metrics.
_PANELS = {
  "imagenet_c": ("% of the baseline's error", ("mce", "relative_mce")),
  "imagenet_p": ("% of the baseline's rate", ("mfr", "mt5d")),
}
COLUMNS = (
  *("network", "metric"),
  *(sheet.Column("accuracy"), sheet.Column("value")),
  *(sheet.Column("lo"), sheet.Column("hi")),
  "source",
)
_GREY = "#555555"
_CLEAN = "clean_error"
_AREAS = (42.0, 20.0)  # marker areas in turn: equal numbers stay visible


@dataclasses.dataclass(frozen=True)
class Point:
  """A network's accuracy on clean data and a mean of the benchmark.

  Attributes:
    network: its label.
    metric: name of the mean.
    accuracy: on clean data.
    number: the mean.
    source: source of both.
    run: whether it is from a run.
    doubt: sentences on what is doubtful about them.
  """

  network: str
  metric: str
  accuracy: Number
  number: Number
  source: str
  run: bool = False
  doubt: str = ""

  def line(self) -> list[sheet.Cell]:
    """Return its line of the CSV."""
    number = self.number
    return [
      *(self.network, self.metric, self.accuracy.value),
      *(number.value, number.lo, number.hi, self.source),
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class BenchmarkScatter(base.PaperFigure):
  """Figures 3, 4 and 6 of Hendrycks and Dietterich: a panel a benchmark.

  Attributes:
    panels: the data set of each panel.
    table: table of `eval/papers` whose networks are drawn; empty: those that the
      paper lists under one protocol.
  """

  panels: tuple[str, ...]
  table: str = ""

  @property
  def printed_sets(self) -> Collection[str]:
    return self.panels

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    points: list[Point] = []
    panels, remarks = [], []
    for dataset in self.panels:
      label, metrics = _PANELS[dataset]
      titles = _titles(dataset, metrics)
      here = [m for m in models if m.board.task == _TASKS[dataset]]
      panel_points = request.if_printed(self._printed(dataset, titles))
      panel_points += run_points(here, titles)
      if not panel_points:
        continue
      points += panel_points
      panels.append(panel(panel_points, titles, label))
      remarks.append(own.comparability(here, dataset))
    notes = [
      *dict.fromkeys(p.source for p in points if not p.run),
      *dict.fromkeys(p.doubt for p in points),
      own.baselines(models, *request.if_printed(self.panels[:1])),
      own.missing_numbers(models, {p.network for p in points if p.run}),
      *remarks,
    ]
    notes = [words.rstrip(".") for words in notes]
    frame = Frame(
      *(4.6 * len(panels), 4.2),
      x="accuracy on clean data (%)",
      legend=OVER,
      share="",
    )
    fig = scatter.draw(panels, frame, notes)
    lines = [point.line() for point in points]
    return base.Drawn(fig, notes, sheet.Sheet(COLUMNS, lines))

  def _printed(self, dataset: str, metrics: Iterable[str]) -> list[Point]:
    """Return the printed networks that have all numbers."""
    table_rows = printed.table("hendrycks2019", self.table)
    out = []
    for network in papers.printed_networks(dataset, every=bool(self.table)):
      numbers = network.numbers
      if self.table:
        rows = [row for row in table_rows if row.label == network.label]
        numbers = {(row.metric, row.name): row.used for row in rows}
      keys = [(metric, "") for metric in (_CLEAN, *metrics)]
      if numbers.keys() >= set(keys):
        clean, *means = (numbers[key] for key in keys)
        right = 1 - clean.value
        accuracy = Number(sheet.Marked(right) if clean.marked else right)
        out += [
          Point(
            *(network.label, m.metric, accuracy, printed.number(m), m.source),
            doubt=doubt.sentences([clean, m]),
          )
          for m in means
        ]
    return out


def _titles(dataset: str, metrics: Iterable[str]) -> dict[str, str]:
  """Return metric -> heading in a legend."""
  listed = definitions.metrics(_TASKS[dataset], *metrics)
  return {m.name: m.heading[0].lower() + m.heading[1:] for m in listed}


def run_points(
  models: Sequence[own.Own], metrics: Iterable[str]
) -> list[Point]:
  """Return the points of runs that have the metrics."""
  out = []
  for model in models:
    right = accuracy(model)
    for metric in metrics:
      number = model.number(metric)
      if right and number:
        out.append(
          Point(model.label, metric, right, number, model.source, run=True)
        )
  return out


def accuracy(model: own.Own) -> Number | None:
  """Return the accuracy on clean data; None if it was not measured."""
  error = model.number(_CLEAN)
  if error is None:
    return None
  lo, hi = _complement(error.hi), _complement(error.lo)
  return Number(_complement(error.value), lo, hi)


def _complement(value: float | None) -> float | None:
  return None if value is None else 1 - value


def panel(
  points: Sequence[Point], titles: Mapping[str, str], y: str
) -> scatter.Panel:
  """Return a panel in which the points of a network are joined and named once.

  Args:
    points: printed ones and those of runs.
    titles: metric -> label in the legend, in the order of the series.
    y: label of the y axis.
  """
  named: set[str] = set()
  out, alone = [], all(p.run for p in points)
  for i, (metric, title) in enumerate(titles.items()):
    series = [p for p in points if p.metric == metric]
    for point in sorted(series, key=lambda p: p.run):
      words = title if alone or not point.run else ""
      out.append(_drawn(point, i, words, point.network not in named))
    named |= {p.network for p in series}
  return scatter.Panel(out, y=y, margins=(0.16, 0.12), naming=scatter.PLACED)


def _drawn(
  point: Point, index: int, title: str, with_name: bool
) -> scatter.Point:
  """Return a point as it is drawn; a run's is hollow."""
  return scatter.Point(
    style.scaled(point.accuracy),
    style.scaled(point.number),
    index,
    title,
    point.network if with_name else "",
    hollow=point.run,
    area=_AREAS[index % len(_AREAS)],
    joins=f"{point.network} {point.run}",
    looks={"ink": "black" if point.run else _GREY},
  )
