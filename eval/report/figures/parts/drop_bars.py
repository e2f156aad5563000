"""Accuracy lost under every perturbation, a bar per network."""

import dataclasses
import math

from eval.charts import bars
from eval.metrics import definitions
from eval.papers import derived, doubt
from eval.report.figures import base
from eval.report.figures.parts import gammas, networks, own, sheet
from robust_tfds.charts import style
from robust_tfds.charts.frame import OVER, Frame

_MEASURE = "gamma_a"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DropBars(base.OneSet):
  """1 - gamma_a of the printed networks, then of runs.

  Attributes:
    training: `scratch` or `kinetics400`; empty: all of the table.
  """

  source: str = "eval/papers: the table by perturbation"
  tasks: tuple[str, ...] = ("video",)
  training: str = ""

  def drawn(self, request: base.Request) -> base.Drawn:
    added = own.from_boards(self.boards(request))
    listed = request.if_printed(
      m
      for m in gammas.printed_networks(self.dataset)
      if not self.training or m.training == self.training
    )
    ours = gammas.run_networks(added)
    trainings = dict.fromkeys(m.training for m in listed or ours)
    panels = [
      bars.Panel(
        [_series(m) for m in (*listed, *ours) if m.training in (t, "")],
        y="accuracy lost (points)",
      )
      for t in trainings
    ]
    names = gammas.names()
    groups = bars.Groups(
      [definitions.words(name) for _, name in names],
      [group for group, _ in names],
      slant=True,
    )
    frame = Frame(
      *(11, 0.6 + 3.4 * len(trainings), 1), legend=OVER, entries=8, share="y"
    )
    fig = bars.draw(panels, groups, frame)
    foot = [
      *(f"{gammas.NAMES[self.dataset]}: {m.source}" for m in listed[:1]),
      "100 (1 - gamma_a), mean over severities",
      doubt.sentences(
        row
        for row in request.if_printed(gammas.printed_rows(self.dataset))
        if row.metric.startswith(_MEASURE)
        and self.training in ("", row.training)
        and row.marked
      ),
      *request.if_printed([derived.contradictions(self.dataset)]),
      own.comparability(added, self.dataset),
    ]
    lines = gammas.sheet_lines([*listed, *ours])
    lines = [line for line in lines if line[3] == _MEASURE]
    table = sheet.Sheet(gammas.COLUMNS, lines)
    return base.Drawn(fig, foot, table)


def _series(network: networks.Network) -> bars.Series:
  lost = [
    style.scaled(number, -100, 100)
    if (number := network.numbers.get((_MEASURE, name)))
    else style.Value(math.nan)
    for _, name in gammas.names()
  ]
  return bars.Series(network.label, lost)
