"""Table 8: the natural shifts of UCF101-DS."""

from collections.abc import Iterable, Sequence

from eval.cells.number import Number
from eval.report.figures.parts import own, printed_table

_START = "accuracy/category/"


class Table8(printed_table.PrintedTable):
  """The number of clips of each category, as printed and in runs."""

  def own_lines(
    self, models: Iterable[own.Own], metrics: Sequence[str]
  ) -> list[printed_table.Line]:
    return [line for model in models for line in _lines(model)]


def _lines(model: own.Own) -> list[printed_table.Line]:
  lines = []
  for metric in model.metrics():
    number = model.cell_number(metric)
    if metric.startswith(_START) and number and number.n:
      texts = {
        "dataset": model.board.dataset,
        "model": model.label,
        "condition": metric.removeprefix(_START),
      }
      numbers = {"clips": Number(float(number.n))}
      lines.append(printed_table.Line(texts, numbers, model.source))
  return lines
