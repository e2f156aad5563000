"""Robustness against clean accuracy; a marker's area is the multiply-adds."""

import dataclasses
from collections.abc import Sequence

from eval.charts import scatter
from eval.papers import derived, doubt
from eval.report.figures import base
from eval.report.figures.parts import (
  gammas,
  networks,
  own,
  printed,
  sheet,
)
from robust_tfds.charts import style
from robust_tfds.charts.frame import Frame

_COLUMNS = (
  *("model", sheet.Column("clean accuracy"), sheet.Column("gamma_r")),
  *("gflops", "clean accuracy is", "source"),
)
_IMPLIED = (
  "no table prints clean accuracy: it is implied by gamma_a and gamma_r of the"
  " perturbations; gamma_r is the mean of the five groups"
)


@dataclasses.dataclass(frozen=True)
class _Point:
  network: networks.Network
  x: float
  y: float
  gflops: float | None = None
  accuracy: str = "measured"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RobustnessScatter(base.OneSet):
  """A colour per network; filled markers are pretrained."""

  source: str = (
    "eval/papers: the table by perturbation, clean accuracy implied by it"
  )
  tasks: tuple[str, ...] = ("video",)

  def drawn(self, request: base.Request) -> base.Drawn:
    added = own.from_boards(self.boards(request))
    points = [*request.if_printed(_printed(self.dataset)), *_run_points(added)]
    names = list(dict.fromkeys(p.network.name for p in points))
    rows = request.if_printed(gammas.printed_rows(self.dataset))
    foot = [
      printed.source_of(rows),
      *request.if_printed([_IMPLIED, derived.contradictions(self.dataset)]),
      doubt.sentences(r for r in rows if r.metric.startswith("gamma_r/")),
      own.comparability(added, self.dataset),
    ]
    title = (
      f"{gammas.NAMES[self.dataset]}: area is multiply-adds; hollow: from"
      " scratch (S), filled: pretrained (P)"
    )
    panel = scatter.Panel(
      [_drawn(p, names.index(p.network.name)) for p in points],
      title=title * request.printed,
      margins=(0.12, 0.12),
      naming=scatter.PLACED,
    )
    frame = Frame(
      *(7, 4.8),
      x=f"clean accuracy{', implied of printed networks' * request.printed} (%)",
      y="relative robustness gamma_r",
    )
    fig = scatter.draw([panel], frame, foot)
    lines = [
      [p.network.label, p.x, p.y, p.gflops, p.accuracy, p.network.source]
      for p in points
    ]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, lines))


def _printed(dataset: str) -> list[_Point]:
  gflops = {
    row.network: row.value
    for row in printed.table(derived.PAPER, "table1")
    if row.metric == "gflops"
  }
  accuracy = derived.dataset_accuracies(dataset)
  out = []
  for network in gammas.printed_networks(dataset):
    clean = accuracy[", ".join(filter(None, (network.name, network.training)))]
    x = clean.value if clean.consistent else sheet.Marked(clean.value)
    y = gammas.group_mean(network, "gamma_r")
    out.append(_Point(network, x, y, gflops.get(network.name), "implied"))
  return out


def _run_points(models: Sequence[own.Own]) -> list[_Point]:
  keys = [("clean_accuracy", ""), ("gamma_r", "")]
  return [
    _Point(network, network.value(*keys[0]), network.value(*keys[1]))
    for network in networks.from_runs(models, keys)
    if len(network.numbers) == len(keys)
  ]


def _area(point: _Point) -> float:
  """Return the area of a marker in square pt."""
  return 30 + 2.5 * (point.gflops or 0.0)


def _drawn(point: _Point, index: int) -> scatter.Point:
  return scatter.Point(
    style.Value(100 * point.x),
    style.Value(point.y),
    index,
    name=point.network.label,
    hollow=point.network.training == "scratch",
    area=_area(point),
    looks={"ink": "black", "alpha": 0.75},
  )
