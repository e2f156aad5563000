"""Figure 9: accuracy on seen and unseen subtypes over accuracy."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from eval.cells.number import Number
from eval.charts import scatter
from eval.compare.boards.board import Board
from eval.papers import PrintedRow, doubt
from eval.report.figures import base
from eval.report.figures.parts import (
  benchmark_scatter,
  own,
  printed,
  sheet,
)
from robust_tfds.charts.frame import OVER, Frame

_TITLES = {
  "unseen_subtype_accuracy": "unseen subtypes",
  "seen_subtype_accuracy": "subtypes seen in training",
}
_CLEAN = "imagenet_c"  # whose runs say a network's accuracy on ImageNet-1K
_UNPLACED = (
  "Not drawn, as no accuracy on ImageNet-1K is known of it (name a run of"
  f" {_CLEAN} too): {{}}"
)
_Printed = Mapping[tuple[str, str], PrintedRow]


class Figure9(base.PaperFigure):
  """Subtypes of classes: how much accuracy unseen ones cost."""

  @property
  def printed_sets(self) -> Collection[str]:
    return ("imagenet22k_subtypes",)

  def unused(self, request: base.Request) -> list[Board]:
    return [b for b in super().unused(request) if b.dataset != _CLEAN]

  def drawn(self, request: base.Request) -> base.Drawn:
    rows = printed.table("hendrycks2019", "figure9")
    of = {(row.label, row.metric): row for row in rows}
    models = own.of(self.boards(request))
    runs = _of_runs(models, _accuracies(of, request.boards))
    points = [*request.shown(_of_printed(of)), *runs]
    placed = [p for p in points if p.accuracy.value is not None]
    lost = dict.fromkeys(p.network for p in points if p not in placed)
    notes = [
      *request.shown([rows[0].source, doubt.sentences(rows)]),
      _UNPLACED.format(", ".join(lost)) if lost else "",
    ]
    notes = [words.rstrip(".") for words in notes if words]
    table = sheet.Sheet(
      benchmark_scatter.COLUMNS, [point.line() for point in points]
    )
    if not placed:
      return base.Drawn(None, notes, table, table)
    panel = benchmark_scatter.panel(placed, _TITLES, "accuracy on subtypes (%)")
    frame = Frame(
      *(6.4, 4.6), x="accuracy on ImageNet-1K (%)", legend=OVER, share=""
    )
    return base.Drawn(scatter.draw([panel], frame, notes), notes, table)


def _of_printed(of: _Printed) -> list[benchmark_scatter.Point]:
  return [
    benchmark_scatter.Point(
      label,
      metric,
      printed.number(of[label, "accuracy"]),
      printed.number(of[label, metric]),
      of[label, metric].source,
    )
    for label in dict.fromkeys(label for label, _ in of)
    for metric in _TITLES
  ]


def _of_runs(
  models: Sequence[own.Own], accuracies: Mapping[str, Number]
) -> list[benchmark_scatter.Point]:
  """Of models that have the numbers; those without an accuracy have no place."""
  return [
    benchmark_scatter.Point(
      model.label,
      metric,
      accuracies.get(_letters(model.entry.label), Number(None)),
      number,
      model.source,
      run=True,
    )
    for model in models
    for metric in _TITLES
    if (number := model.number(metric))
  ]


def _accuracies(of: _Printed, boards: Iterable[Board]) -> dict[str, Number]:
  """Network's name in letters -> its accuracy on ImageNet-1K.

  Of a run over ImageNet-C's clean pictures, else as printed.
  """
  out = {
    _letters(label): printed.number(row)
    for (label, metric), row in of.items()
    if metric == "accuracy"
  }
  for model in own.of(b for b in boards if b.dataset == _CLEAN):
    accuracy = benchmark_scatter.accuracy(model)
    if accuracy:
      out[_letters(model.entry.label)] = accuracy
  return out


def _letters(name: str) -> str:
  """A network's name without signs and large letters: `ResNet-50`, `resnet50`."""
  return "".join(filter(str.isalnum, name.casefold()))
