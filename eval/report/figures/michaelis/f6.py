"""Figure 6: relative performance of a corruption over its RMSE."""

import dataclasses

import numpy as np

from eval.charts import scatter
from eval.metrics import definitions
from eval.papers import raw_results
from eval.report.figures import base
from eval.report.figures.parts import own, sheet
from robust_tfds import conditions, errors
from robust_tfds.charts import style
from robust_tfds.charts.frame import INSIDE, Frame
from robust_tfds.conditions import Condition

_DATASET = "pascal_c"
_STANDARD = "faster_rcnn_r50_fpn_1x_voc0712"
_COMBINED = "faster_rcnn_r50_fpn_1x_vocsvoc0712"
_COLUMNS = (
  *("corruption", sheet.Column("RMSE (as the authors' file)", 2, False)),
  *("model", sheet.Column("relative P"), "source"),
)
_DEFECT = (
  "The RMSE is that of the authors' file, whose differences wrap around in 8 bits:"
  " none exceeds 16, and impulse noise is about eight times too small"
)
_ARROWS = (
  "Arrows: from training on standard data to training on standard and stylized"
  " data; both relative to clean P of the standard training"
)


@dataclasses.dataclass(frozen=True)
class _Point:
  name: str
  rmse: float
  label: str
  relative: float
  source: str

  def line(self) -> list[sheet.Cell]:
    """Return its line of the CSV."""
    return [self.name, self.rmse, self.label, self.relative, self.source]


class Figure6(base.PaperFigure):
  """The gain from training on stylized data, corruption by corruption."""

  printed_sets = (_DATASET,)

  def drawn(self, request: base.Request) -> base.Drawn:
    standard, combined = (
      request.if_printed(_raw(file)) for file in (_STANDARD, _COMBINED)
    )
    models = own.from_boards(self.boards(request))
    others = own.other_datasets(models, _DATASET)
    if others:
      raise errors.UserError(
        f"{self.name}: the RMSE of the authors' file is of {_DATASET}, and says"
        f" nothing of {', '.join(others)}."
      )
    runs = [_run_points(model) for model in models]
    shown = {p.label for points in runs for p in points}
    foot = [
      *request.if_printed([self.source]),
      _DEFECT,
      *request.if_printed([_ARROWS]),
      own.comparability(models, _DATASET),
      own.missing_numbers(models, shown),
    ]
    drawn = [_drawn(p, 0, name=True) for p in standard]
    for i, points in enumerate(runs):
      drawn += [_drawn(p, 3 + i) for p in points]
    arrows = [(_place(a), _place(b)) for a, b in zip(standard, combined)]
    frame = Frame(
      *(8, 5.5),
      x="RMSE between clean and corrupted pixels, authors' file",
      y="mean P under the corruption / clean P (%)",
      legend=INSIDE if runs else "",
    )
    panel = scatter.Panel(drawn, arrows=arrows, naming=scatter.PLACED)
    fig = scatter.draw([panel], frame, foot)
    points = [*standard, *combined, *(p for points in runs for p in points)]
    table = sheet.Sheet(_COLUMNS, [point.line() for point in points])
    return base.Drawn(fig, foot, table)


def _raw(file: str) -> list[_Point]:
  """Return a results file's P, relative to clean P of the standard training."""
  cells = raw_results.cells(_DATASET, file)
  clean = raw_results.cells(_DATASET, _STANDARD)[Condition()]
  label = "standard" if file == _STANDARD else "combined"
  out = []
  for name in conditions.PICTURES.names("common"):
    values = [cells[Condition(name, s)] for s in conditions.SEVERITIES]
    relative = float(np.mean(values)) / clean
    out.append(_Point(name, _rmse(name), label, relative, raw_results.source()))
  return out


def _run_points(model: own.Own) -> list[_Point]:
  """Return a run's means over severities, relative to its own clean P."""
  clean, out = model.value("p"), []
  for name in conditions.PICTURES.names("common"):
    mean = model.value("mean_ap", name)
    if clean and mean is not None:
      point = (name, _rmse(name), model.label, mean / clean, model.source)
      out.append(_Point(*point))
  return out


def _rmse(name: str) -> float:
  cells = raw_results.rmse()[_DATASET]
  values = [cells[Condition(name, s)] for s in conditions.SEVERITIES]
  return float(np.mean(values))


def _drawn(point: _Point, index: int, name: bool = False) -> scatter.Point:
  return scatter.Point(
    style.Value(point.rmse),
    style.Value(100 * point.relative),
    index,
    point.label,
    definitions.words(point.name) if name else "",
    looks={"ink": "black"},
  )


def _place(point: _Point) -> tuple[float, float]:
  return point.rmse, 100 * point.relative
