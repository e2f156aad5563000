"""Figures 3, 4 and 6 of Hendrycks and Dietterich: means over accuracy."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from robust_tfds.eval import papers
from robust_tfds.eval.report.charts import scatter
from robust_tfds.eval.report.charts.frame import OVER, Frame
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import (
  accuracy_scatter,
  own,
  printed,
  sheet,
)

_PAPER = "hendrycks2019"
_TASKS = {"imagenet_c": "classification", "imagenet_p": "sequences"}
# Data set -> label of the y axis, metric -> title.
_PANELS: Mapping[str, tuple[str, Mapping[str, str]]] = {
  "imagenet_c": (
    "% of the baseline's error",
    {"mce": "mCE", "relative_mce": "relative mCE"},
  ),
  "imagenet_p": (
    "% of the baseline's rate",
    {"mfr": "mFR", "mt5d": "mT5D"},
  ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class BenchmarkScatter(base.PaperFigure):
  """A panel a benchmark.

  Attributes:
    panels: the data set of each.
    table: file of `eval/papers` whose networks are drawn; empty: those that the
      paper lists under one protocol.
  """

  panels: tuple[str, ...]
  table: str = ""

  def drawn(self, request: base.Request) -> base.Drawn:
    """The figure and its CSV."""
    models = own.of(self.boards(request))
    points: list[accuracy_scatter.Point] = []
    panels = []
    for dataset in self.panels:
      label, titles = _PANELS[dataset]
      networks = self._networks(dataset, titles)
      of_panel = [
        *accuracy_scatter.printed(networks, list(titles)),
        *accuracy_scatter.runs(_of(models, dataset), list(titles)),
      ]
      points += of_panel
      panels.append(accuracy_scatter.panel(of_panel, titles, label))
    lines = [point.line() for point in points]
    drawn = {p.network for p in points if p.run}
    told = list(dict.fromkeys(p.source for p in points if not p.run))
    told += [
      own.baselines(models, self.panels[0]),
      own.without(models, drawn),
      *(own.remark(_of(models, d), d) for d in self.panels),
    ]
    told = [words.rstrip(".") for words in told]
    frame = Frame(
      *(4.6 * len(panels), 4.2),
      x="accuracy on clean data (%)",
      legend=OVER,
      share="",
    )
    fig = scatter.draw(panels, frame, told)
    return base.Drawn(fig, told, sheet.Sheet(accuracy_scatter.COLUMNS, lines))

  def _networks(
    self, dataset: str, metrics: Iterable[str]
  ) -> list[papers.Network]:
    """The printed networks that have all numbers."""
    listed = papers.printed_networks(dataset, every=bool(self.table))
    if self.table:
      listed = tuple(map(self._of_table, listed))
    keys = {(metric, "") for metric in ("clean_error", *metrics)}
    return [n for n in listed if keys <= n.numbers.keys()]

  def _of_table(self, network: papers.Network) -> papers.Network:
    """What the figure's table prints of a network."""
    rows = {
      (r.metric, r.name): r
      for r in printed.table(_PAPER, self.table)
      if r.label == network.label
    }
    return papers.Network(network.label, network.model, rows)


def _of(models: Sequence[own.Own], dataset: str) -> list[own.Own]:
  """Those of the task of a panel's data set."""
  return [m for m in models if m.board.task == _TASKS[dataset]]
