"""P against severity: a panel per corruption, a curve per detector."""

import dataclasses

from eval.metrics import definitions
from eval.report.figures import base
from eval.report.figures.parts import (
  ap_curves,
  own,
  sheet,
  trainings,
)
from robust_tfds import conditions
from robust_tfds.charts import lines
from robust_tfds.charts.frame import ABOVE, Frame

_ACROSS = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorruptionCurves(base.OneSet):
  """The 15 corruptions and their mean.

  Attributes:
    models: the figure's curves; empty: those of the three trainings.
    measure: what P is.
  """

  source: str = "eval/papers: the authors' raw results"
  tasks: tuple[str, ...] = ("detection",)
  models: tuple[ap_curves.Model, ...] = ()
  measure: str = "AP"

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    raw = request.if_printed(
      self.models or trainings.curve_models(self.dataset)
    )
    absent = ap_curves.absent_curves(self.dataset, raw)
    curves_by_name = {
      name: [
        *ap_curves.raw_curves(self.dataset, raw, name),
        *(
          ap_curves.run_curve(m, len(raw) + i, name)
          for i, m in enumerate(models)
        ),
      ]
      for name in ("", *conditions.PICTURES.names("common"))
    }
    panels = [
      ap_curves.panel(
        definitions.words(name) or "mean of the 15",
        curves if name else [*curves, *absent],
      )
      for name, curves in curves_by_name.items()
    ]
    frame = Frame(
      2.9 * _ACROSS,
      2.1 * (len(curves_by_name) // _ACROSS) + 1.2,
      _ACROSS,
      x="severity",
      y=f"{self.measure} (%)",
      y_ends=(0, None),
      x_ticks=lines.SEVERITIES,
      legend=ABOVE,
      entries=2,
    )
    fig = lines.draw(panels, frame)
    curves_by_name |= {ap_curves.MEAN: absent}
    rows = [
      row
      for name, curves in curves_by_name.items()
      for curve in curves
      for row in curve.lines(self.dataset, name or ap_curves.MEAN)
    ]
    runs = own.comparability(models, self.dataset)
    foot = [*request.if_printed([self.source]), ap_curves.remark(absent), runs]
    return base.Drawn(fig, foot, sheet.Sheet(ap_curves.COLUMNS, rows))
