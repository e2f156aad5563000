"""Figure 5: P against severity by training data, the mean over corruptions."""

from __future__ import annotations

from collections.abc import Sequence

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import (
  ap_curves,
  own,
  sheet,
  trainings,
)


class Figure5(base.PaperFigure):
  """A panel a data set; runs over other data have panels of their own."""

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the figure and its CSV."""
    models = own.of(self.boards(request))
    others = dict.fromkeys(m.board.dataset for m in models)
    datasets = [*dict.fromkeys([*trainings.DATASETS, *others])]
    fig = style.figure(4.4 * len(datasets), 4.4)
    grid = style.axes(fig, 1, len(datasets))[0]
    lines: list[list[sheet.Cell]] = []
    foot = [self.source, "mean over the 15 corruptions"]
    for ax, dataset in zip(grid, datasets):
      here = [m for m in models if m.board.dataset == dataset]
      lines += self._panel(ax, dataset, here)
      if dataset in trainings.DATASETS:
        missing = ap_curves.absent(dataset, trainings.of(dataset))
        foot.append(f"{dataset}: {ap_curves.remark(missing)}")
        foot.append(own.remark(here, dataset))
    grid[0].set_ylabel("AP (%; VOC: AP50)")
    return [
      *style.save(fig, folder, self.name, foot),
      sheet.Sheet(ap_curves.COLUMNS, lines).write_csv(folder, self.name),
    ]

  def _panel(
    self, ax: style.Axes, dataset: str, models: Sequence[own.Own]
  ) -> list[list[sheet.Cell]]:
    """Draws a data set; gives the CSV's lines."""
    name, measure = trainings.DATASETS.get(dataset, (f"own: {dataset}", "AP"))
    ax.set_title(f"{name}, {measure}", loc="left", fontsize=10)
    ax.set_xlabel("severity")
    curves, absent = [], []
    if dataset in trainings.DATASETS:
      raw = trainings.of(dataset)
      curves = ap_curves.of_raw(dataset, raw)
      absent = ap_curves.absent(dataset, raw)
    first = len(trainings.TRAININGS)
    curves += [ap_curves.of_run(m, first + i) for i, m in enumerate(models)]
    ap_curves.draw(ax, curves)
    ap_curves.draw_absent(ax, absent)
    ax.set_ylim(0, 1.25 * ax.get_ylim()[1])  # room for the legend
    ax.legend(fontsize=7, loc="upper right")
    lines = [line for c in curves for line in c.lines(dataset, "mean of 15")]
    return lines + [line for c in absent for line in c.lines(dataset)]
