"""Robustness against clean accuracy; a marker's area is the multiply-adds."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.papers import derived
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import (
  gammas,
  labels,
  own,
  printed,
  sheet,
)

_COLUMNS = (
  *("model", sheet.Column("clean accuracy"), sheet.Column("gamma_r")),
  *("gflops", "source"),
)
_IMPLIED = (
  "no table prints clean accuracy: it is implied by gamma_a and gamma_r of the"
  " perturbations; gamma_r is the mean of the five groups"
)


@dataclasses.dataclass(frozen=True)
class _Point:
  label: str
  network: str
  pretrained: bool
  x: float
  y: float
  gflops: float | None
  source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class RobustnessScatter(base.PaperFigure):
  """A colour a network; filled markers are pretrained.

  Attributes:
    dataset: of the table.
  """

  source: str = (
    "eval/papers: the table by perturbation, clean accuracy implied by it"
  )
  tasks: tuple[str, ...] = ("video",)
  dataset: str

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    added = own.of(self.boards(request))
    points = [*_printed(self.dataset), *_own(added)]
    networks = list(dict.fromkeys(p.network for p in points))
    fig = style.figure(7, 4.8)
    ax = style.axes(fig, 1, 1)[0, 0]
    for point in points:
      _draw(ax, point, networks.index(point.network))
    ax.set_xlabel("clean accuracy (%)")
    ax.set_ylabel("relative robustness gamma_r")
    ax.margins(0.12)
    labels.place(
      ax,
      [(100 * p.x, p.y) for p in points],
      [p.label for p in points],
      ["black"] * len(points),
      sizes=[0.55 * math.sqrt(_area(p)) for p in points],
    )
    ax.set_title(
      f"{gammas.NAMES[self.dataset]}: area is multiply-adds; hollow: from"
      " scratch (S), filled: pretrained (P)",
      loc="left",
      fontsize=8,
    )
    foot = [points[0].source, _IMPLIED, own.remark(added, self.dataset)]
    lines = [[p.label, p.x, p.y, p.gflops, p.source] for p in points]
    return [
      *style.save(fig, folder, self.name, foot),
      sheet.Sheet(_COLUMNS, lines).write_csv(folder, self.name),
    ]


def _printed(dataset: str) -> list[_Point]:
  gflops = {
    row.network: row.value
    for row in printed.table(derived.PAPER, "table1")
    if row.metric == "gflops"
  }
  accuracy = {
    clean.label: clean.value
    for clean in derived.clean_accuracies()
    if clean.dataset == dataset
  }
  out = []
  for model in gammas.printed_models(dataset):
    label = ", ".join(filter(None, (model.network, model.training)))
    out.append(
      _Point(
        model.label,
        model.network,
        model.training == "kinetics400",
        accuracy[label],
        gammas.group_mean(model, "gamma_r"),
        gflops.get(model.network),
        model.source,
      )
    )
  return out


def _own(models: Sequence[own.Own]) -> list[_Point]:
  out = []
  for model in models:
    x, y = model.value("clean_accuracy"), model.value("gamma_r")
    if x is not None and y is not None:
      label = model.label
      out.append(_Point(label, label, True, x, y, None, model.source))
  return out


def _area(point: _Point) -> float:
  """Of a marker, in square pt."""
  return 30 + 2.5 * (point.gflops or 0.0)


def _draw(ax: style.Axes, point: _Point, index: int) -> None:
  x, y = 100 * point.x, point.y
  colour = style.colour(index)
  ax.scatter(
    [x],
    [y],
    s=_area(point),
    marker=style.marker(index),
    facecolor=colour if point.pretrained else "none",
    edgecolor=colour,
    alpha=0.75,
    linewidth=1.4,
  )
