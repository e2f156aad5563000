"""Figure 5: P against severity by training data, the mean over corruptions."""

from collections.abc import Sequence

from eval.report.figures import base
from eval.report.figures.parts import (
  ap_curves,
  own,
  sheet,
  trainings,
)
from robust_tfds.charts import lines
from robust_tfds.charts.frame import INSIDE, Frame


class Figure5(base.PaperFigure):
  """A panel per data set."""

  printed_sets = trainings.DATASETS

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    others = dict.fromkeys(m.board.dataset for m in models)
    datasets = [
      *dict.fromkeys([*request.if_printed(trainings.DATASETS), *others])
    ]
    panels, rows = [], []
    foot = [*request.if_printed([self.source]), "mean over the 15 corruptions"]
    for dataset in datasets:
      here = [m for m in models if m.board.dataset == dataset]
      raw = trainings.curve_models(dataset) if request.printed else ()
      panel, of_panel = _panel(dataset, raw, here)
      panels.append(panel)
      rows += of_panel
      missing = ap_curves.remark(ap_curves.absent_curves(dataset, raw))
      foot.append(f"{dataset}: {missing}" if missing else "")
    foot.append(own.comparability(models, *trainings.DATASETS))
    frame = Frame(
      *(4.4 * len(datasets), 5.2),
      x="severity",
      y="AP (%; VOC: AP50)",
      y_ends=(0, None),
      x_ticks=lines.SEVERITIES,
      legend=INSIDE,
      share="",
    )
    fig = lines.draw(panels, frame)
    return base.Drawn(fig, foot, sheet.Sheet(ap_curves.COLUMNS, rows))


def _panel(
  dataset: str, raw: Sequence[ap_curves.Model], models: Sequence[own.Own]
) -> tuple[lines.Panel, list[list[sheet.Cell]]]:
  """Return a data set's panel and its lines of the CSV."""
  name, measure = trainings.DATASETS.get(dataset, (f"own: {dataset}", "AP"))
  curves = [
    *ap_curves.raw_curves(dataset, raw),
    *(
      ap_curves.run_curve(m, len(trainings.TRAININGS) + i)
      for i, m in enumerate(models)
    ),
    *ap_curves.absent_curves(dataset, raw),
  ]
  rows = [row for c in curves for row in c.lines(dataset, ap_curves.MEAN)]
  return ap_curves.panel(f"{name}, {measure}", curves), rows
