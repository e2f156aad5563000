"""Robustness of groups of perturbations against severity, a line a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.compare.boards.board import Board
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own, severity_curves, sheet

_COLUMNS = (
  *("model", "group", "severity", sheet.Column("gamma_r")),
  *("perturbations", "source"),
)


@dataclasses.dataclass(frozen=True)
class _Point:
  severity: int
  value: float
  members: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SeverityGroups(base.PaperFigure):
  """A panel a group: gamma_r, the mean over its perturbations.

  Attributes:
    dataset: of the figure; runs over others are drawn where there is none.
  """

  source: str = "runs; no paper prints numbers by severity"
  tasks: tuple[str, ...] = ("video",)
  needs_runs: bool = True
  dataset: str

  def boards(self, request: base.Request) -> list[Board]:
    """Those of the data set, where there is one."""
    return severity_curves.of_dataset(super().boards(request), self.dataset)

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    models = own.of(self.boards(request))
    groups = conditions.VIDEOS.groups
    fig = style.figure(2.3 * len(groups) + 0.6, 3.2)
    grid = style.axes(fig, 1, len(groups), sharey=True)[0]
    lines: list[list[sheet.Cell]] = []
    for ax, group in zip(grid, groups):
      ax.set_title(group, loc="left", fontsize=9)
      ax.set_xticks(conditions.SEVERITIES)
      ax.set_xlabel("severity")
      for i, model in enumerate(models):
        points = _points(model, group)
        _curve(ax, points, i, model.label)
        lines += [
          [model.label, group, p.severity, p.value, p.members, model.source]
          for p in points
        ]
    grid[0].set_ylabel("relative robustness gamma_r")
    grid[0].set_ylim(bottom=0)
    title = severity_curves.heading(self.title, models, self.dataset)
    style.legend_above(fig, grid[0], title=title)
    foot = [
      "accuracy / clean accuracy, mean over a group's perturbations",
      f"own runs: {own.runs(models)}",
      own.remark(models, self.dataset),
    ]
    return [
      *style.save(fig, folder, self.name, foot),
      sheet.Sheet(_COLUMNS, lines).write_csv(folder, self.name),
    ]


def _points(model: own.Own, group: str) -> list[_Point]:
  """A severity's mean over the perturbations of a group that the run has."""
  clean = model.value("clean_accuracy")
  if not clean:
    return []
  out = []
  for severity in conditions.SEVERITIES:
    cells = [
      model.of_cell("accuracy", Condition(name, severity, "videos"))
      for name in conditions.VIDEOS.members(group, "common")
    ]
    values = [c.value for c in cells if c and c.value is not None]
    if values:
      mean = float(np.mean(values)) / clean
      out.append(_Point(severity, mean, len(values)))
  return out


def _curve(
  ax: style.Axes, points: Sequence[_Point], index: int, label: str
) -> None:
  ax.plot(
    [p.severity for p in points],
    [p.value for p in points],
    color=style.colour(index),
    marker=style.marker(index),
    markersize=4,
    linewidth=1.2,
    label=label,
  )
