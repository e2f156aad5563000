"""Robustness of families of perturbations against severity, a line per model."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from eval.compare.boards.board import Board
from eval.report.figures import base
from eval.report.figures.parts import own, severity_curves, sheet
from robust_tfds import conditions
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import ABOVE, Frame
from robust_tfds.conditions import Condition

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
  """A panel per family: gamma_r, the mean over its perturbations.

  Attributes:
    dataset: the paper's; runs over others are drawn if there are none over it.
  """

  source: str = "runs; no paper prints numbers by severity"
  tasks: tuple[str, ...] = ("video",)
  needs_runs: bool = True
  dataset: str

  def boards(self, request: base.Request) -> list[Board]:
    return severity_curves.dataset_boards(super().boards(request), self.dataset)

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    groups = conditions.VIDEOS.groups
    points = {(m.label, g): _points(m, g) for m in models for g in groups}
    panels = [
      lines.Panel(
        [
          _line(m.label, i, points[m.label, group])
          for i, m in enumerate(models)
        ],
        title=group,
      )
      for group in groups
    ]
    frame = Frame(
      *(2.3 * len(groups) + 0.6, 3.2),
      x="severity",
      y="relative robustness gamma_r",
      y_ends=(0, None),
      x_ticks=(conditions.SEVERITIES, None),
      title=severity_curves.heading(self.title, models, self.dataset),
      legend=ABOVE,
    )
    rows: list[list[sheet.Cell]] = [
      [m.label, group, p.severity, p.value, p.members, m.source]
      for group in groups
      for m in models
      for p in points[m.label, group]
    ]
    fig = lines.draw(panels, frame)
    foot = [
      "accuracy / clean accuracy, mean over a group's perturbations",
      f"own runs: {own.runs(models)}",
      own.comparability(models, self.dataset),
    ]
    return base.Drawn(fig, foot, sheet.Sheet(_COLUMNS, rows))


def _line(label: str, index: int, points: Sequence[_Point]) -> lines.Line:
  x = [p.severity for p in points]
  values = [style.Value(p.value) for p in points]
  return lines.Line(label, x, values, index)


def _points(model: own.Own, group: str) -> list[_Point]:
  """Return the mean per severity over the run's perturbations of a family."""
  clean = model.value("clean_accuracy")
  if not clean:
    return []
  out = []
  for severity in conditions.SEVERITIES:
    cells = [
      model.cell_number("accuracy", Condition(name, severity, "videos"))
      for name in conditions.VIDEOS.members(group, "common")
    ]
    values = [c.value for c in cells if c and c.value is not None]
    if values:
      mean = float(np.mean(values)) / clean
      out.append(_Point(severity, mean, len(values)))
  return out
