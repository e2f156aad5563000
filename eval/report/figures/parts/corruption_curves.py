"""P against severity, a panel a corruption, a curve a detector."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from etils import epath

from robust_tfds import conditions
from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import ap_curves, own, sheet

_ACROSS = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorruptionCurves(base.PaperFigure):
  """The 15 corruptions and their mean.

  Attributes:
    dataset: of the figure; runs over others are drawn too, and the foot says so.
    models: the figure's curves.
    measure: what P is.
  """

  source: str = "eval/papers: the authors' raw results"
  tasks: tuple[str, ...] = ("detection",)
  dataset: str
  models: tuple[ap_curves.Model, ...]
  measure: str = "AP"

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    models = own.of(self.boards(request))
    lines: list[list[sheet.Cell]] = []
    names = ("", *conditions.PICTURES.names("common"))
    fig = style.figure(2.9 * _ACROSS, 2.1 * (len(names) // _ACROSS) + 1.2)
    grid = style.axes(
      fig, len(names) // _ACROSS, _ACROSS, sharex=True, sharey=True
    )
    absent = ap_curves.absent(self.dataset, self.models)
    for ax, name in zip(grid.flat, names):
      title = style.words(name) or "mean of the 15"
      ax.set_title(title, loc="left", fontsize=9)
      curves = [
        *ap_curves.of_raw(self.dataset, self.models, name),
        *(
          ap_curves.of_run(m, len(self.models) + i, name)
          for i, m in enumerate(models)
        ),
      ]
      ap_curves.draw(ax, curves)
      if not name:
        ap_curves.draw_absent(ax, absent)
      for curve in curves:
        lines += curve.lines(self.dataset, name or "mean of 15")
    self._finish(fig, grid)
    for missing in absent:
      lines += missing.lines(self.dataset)
    runs = own.remark(models, self.dataset)
    foot = [self.source, ap_curves.remark(absent), runs]
    return [
      *style.save(fig, folder, self.name, foot),
      sheet.Sheet(ap_curves.COLUMNS, lines).write_csv(folder, self.name),
    ]

  def _finish(self, fig: style.Figure, grid: np.ndarray) -> None:
    grid[0][0].set_ylim(bottom=0)
    for line in grid:
      line[0].set_ylabel(f"{self.measure} (%)")
    for ax in grid[-1]:
      ax.set_xlabel("severity")
    style.legend_above(fig, grid[0][0], columns=2)
