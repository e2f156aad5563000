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
_CLEAN = "imagenet_c"  # its runs have a network's accuracy on ImageNet-1K
_UNPLACED = (
  "Not drawn, as no accuracy on ImageNet-1K is known of it (name a run of"
  f" {_CLEAN} too): {{}}"
)
_Printed = Mapping[tuple[str, str], PrintedRow]


class Figure9(base.PaperFigure):
  """Accuracy on seen and unseen subtypes, joined for each network."""

  @property
  def printed_sets(self) -> Collection[str]:
    return ("imagenet22k_subtypes",)

  def unused(self, request: base.Request) -> list[Board]:
    return [b for b in super().unused(request) if b.dataset != _CLEAN]

  def drawn(self, request: base.Request) -> base.Drawn:
    rows = printed.table("hendrycks2019", "figure9")
    printed_rows = {(row.label, row.metric): row for row in rows}
    models = own.from_boards(self.boards(request))
    runs = _run_points(models, _accuracies(printed_rows, request.boards))
    points = [*request.if_printed(_printed_points(printed_rows)), *runs]
    placed = [p for p in points if p.accuracy.value is not None]
    lost = dict.fromkeys(p.network for p in points if p not in placed)
    notes = [
      *request.if_printed([rows[0].source, doubt.sentences(rows)]),
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


def _printed_points(rows: _Printed) -> list[benchmark_scatter.Point]:
  return [
    benchmark_scatter.Point(
      label,
      metric,
      printed.number(rows[label, "accuracy"]),
      printed.number(rows[label, metric]),
      rows[label, metric].source,
    )
    for label in dict.fromkeys(label for label, _ in rows)
    for metric in _TITLES
  ]


def _run_points(
  models: Sequence[own.Own], accuracies: Mapping[str, Number]
) -> list[benchmark_scatter.Point]:
  """Return the points of runs; without an accuracy they cannot be placed."""
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


def _accuracies(rows: _Printed, boards: Iterable[Board]) -> dict[str, Number]:
  """Return a network's letters -> its accuracy on ImageNet-1K.

  It is from a run over ImageNet-C's clean pictures, else as printed.
  """
  out = {
    _letters(label): printed.number(row)
    for (label, metric), row in rows.items()
    if metric == "accuracy"
  }
  for model in own.from_boards(b for b in boards if b.dataset == _CLEAN):
    accuracy = benchmark_scatter.accuracy(model)
    if accuracy:
      out[_letters(model.entry.label)] = accuracy
  return out


def _letters(name: str) -> str:
  """Return a network's name in lower-case letters and digits: `resnet50`."""
  return "".join(filter(str.isalnum, name.casefold()))
