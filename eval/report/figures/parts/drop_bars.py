"""Accuracy that is lost under every perturbation, a bar a network."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import bars, gammas, own, sheet

_MEASURE = "gamma_a"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DropBars(base.PaperFigure):
  """1 - gamma_a of the printed networks, own models after them.

  Attributes:
    dataset: whose table it is drawn from.
    training: `scratch` or `kinetics400`; empty: all of the table.
  """

  source: str = "eval/papers: the table by perturbation"
  tasks: tuple[str, ...] = ("video",)
  dataset: str
  training: str = ""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    added = own.of(self.boards(request))
    listed = [
      m
      for m in gammas.printed_models(self.dataset)
      if not self.training or m.training == self.training
    ]
    ours = gammas.own_models(added)
    trainings = dict.fromkeys(m.training for m in listed)
    fig = style.figure(11, 0.6 + 3.4 * len(trainings))
    grid = style.axes(fig, len(trainings), 1, sharey=True)[:, 0]
    for ax, training in zip(grid, trainings):
      of_training = [m for m in listed if m.training == training]
      _panel(ax, [*of_training, *ours])
    foot = [
      f"{gammas.NAMES[self.dataset]}: {listed[0].source}",
      "100 (1 - gamma_a), mean over severities",
      own.remark(added, self.dataset),
    ]
    lines = gammas.lines([*listed, *ours])
    lines = [line for line in lines if line[3] == _MEASURE]
    table = sheet.Sheet(gammas.COLUMNS, lines)
    return [
      *style.save(fig, folder, self.name, foot),
      table.write_csv(folder, self.name),
    ]


def _panel(ax: style.Axes, models: Sequence[gammas.Model]) -> None:
  names = gammas.names()
  words = [style.words(name) for _, name in names]
  bars.draw(ax, words, [_series(model) for model in models])
  bars.slant(ax)
  style.head_groups(ax, [group for group, _ in names])
  ax.set_ylabel("accuracy lost (points)")
  ax.legend(loc="lower left", bbox_to_anchor=(0, 1.06), ncols=8, fontsize=8)


def _series(model: gammas.Model) -> bars.Series:
  numbers = [model.numbers.get((_MEASURE, name)) for _, name in gammas.names()]
  ends = [(_lost(n.hi), _lost(n.lo)) if n else (None, None) for n in numbers]
  values = [
    100 * (1 - model.value(_MEASURE, name)) for _, name in gammas.names()
  ]
  whiskers = ends if any(lo is not None for lo, _ in ends) else ()
  return bars.Series(model.label, values, whiskers)


def _lost(gamma: float | None) -> float | None:
  return None if gamma is None else 100 * (1 - gamma)
