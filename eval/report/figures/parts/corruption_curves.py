"""P against severity, a panel a corruption, a curve a detector."""

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
    models = own.of(self.boards(request))
    raw = request.shown(self.models or trainings.of(self.dataset))
    absent = ap_curves.absent(self.dataset, raw)
    of = {
      name: [
        *ap_curves.of_raw(self.dataset, raw, name),
        *(
          ap_curves.of_run(m, len(raw) + i, name) for i, m in enumerate(models)
        ),
      ]
      for name in ("", *conditions.PICTURES.names("common"))
    }
    panels = [
      ap_curves.panel(
        definitions.words(name) or "mean of the 15",
        curves if name else [*curves, *absent],
      )
      for name, curves in of.items()
    ]
    frame = Frame(
      2.9 * _ACROSS,
      2.1 * (len(of) // _ACROSS) + 1.2,
      _ACROSS,
      x="severity",
      y=f"{self.measure} (%)",
      y_ends=(0, None),
      x_ticks=lines.SEVERITIES,
      legend=ABOVE,
      entries=2,
    )
    fig = lines.draw(panels, frame)
    of |= {ap_curves.MEAN: absent}
    rows = [
      row
      for name, curves in of.items()
      for curve in curves
      for row in curve.lines(self.dataset, name or ap_curves.MEAN)
    ]
    runs = own.remark(models, self.dataset)
    foot = [*request.shown([self.source]), ap_curves.remark(absent), runs]
    return base.Drawn(fig, foot, sheet.Sheet(ap_curves.COLUMNS, rows))
