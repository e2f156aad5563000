"""A printed table with lines of own runs."""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from eval.cells.number import Number
from eval.metrics import definitions
from eval.papers import PrintedRow, doubt
from eval.report.figures import base
from eval.report.figures.parts import own, printed, sheet

_PRINTED = "printed"


@dataclasses.dataclass(frozen=True)
class Line:
  """A line of a table.

  Attributes:
    texts: `dataset`, `model`, `condition`, `note`.
    numbers: metric -> number.
    source: printed, or which run.
  """

  texts: Mapping[str, str]
  numbers: Mapping[str, Number]
  source: str = _PRINTED


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrintedTable(base.PaperFigure):
  """The lines as printed, own ones below.

  Attributes:
    of: folder and table of `eval/papers`.
    best_first: metric by which lines are sorted, largest first; empty: the
      printed order.
    lowest_first: metric by which lines are sorted, smallest first.
    suffixes: (condition in words, suffix of the metrics) of the lines of a run's
      model.
    breakdown: a run's model has a line per value of it, in place of `suffixes`;
      frame rates are truncated: 29 is 29.97.
  """

  source: str = "eval/papers: the printed table"
  of: tuple[str, str]
  best_first: str = ""
  lowest_first: str = ""
  suffixes: tuple[tuple[str, str], ...] = (("", ""),)
  breakdown: str = ""

  def _suffixes_of(self, model: own.Own) -> Sequence[tuple[str, str]]:
    """Return `suffixes`, or those of the breakdown's values of the model."""
    if not self.breakdown:
      return self.suffixes
    start = f"acc_orig/{self.breakdown}="
    values = [
      m.removeprefix(start) for m in model.metrics() if m.startswith(start)
    ]
    return [(f"{v} {self.breakdown}", f"/{self.breakdown}={v}") for v in values]

  @property
  def printed_sets(self) -> Collection[str]:
    return printed.datasets(*self.of)

  def drawn(self, request: base.Request) -> base.Drawn:
    rows = printed.table(*self.of)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    models = own.from_boards(self.boards(request))
    lines = [
      *request.if_printed(_printed_lines(rows)),
      *self.own_lines(models, metrics),
    ]
    lines.sort(key=self._order)
    sources = {line.source for line in lines}
    drawn = [m.label for m in models if m.source in sources]
    remark = own.comparability(models, *self.printed_sets)
    caption = _caption(request.if_printed(rows), models, drawn, remark)
    table = _sheet(rows, metrics, lines, caption)
    return base.Drawn(None, (), table, table)

  def own_lines(
    self, models: Iterable[own.Own], metrics: Sequence[str]
  ) -> list[Line]:
    lines = []
    for model in models:
      for condition, suffix in self._suffixes_of(model):
        numbers = own_numbers(model, metrics, suffix)
        texts = {
          "dataset": model.board.dataset,
          "model": model.label,
          "condition": condition,
        }
        if numbers:
          lines.append(Line(texts, numbers, model.source))
    return lines

  def _order(self, line: Line) -> float:
    if self.lowest_first:
      return _value(line, self.lowest_first) or math.inf
    return -_value(line, self.best_first)


def own_numbers(
  model: own.Own, metrics: Iterable[str], suffix: str = ""
) -> dict[str, Number]:
  """Return the metrics of a table that a model has.

  Args:
    metrics: names in `eval/papers`.
    suffix: suffix of the names in the run's table, e.g. `/fps=25`.
  """
  out = {}
  for metric in metrics:
    number = model.number(metric + suffix) or model.cell_number(metric + suffix)
    if number:
      out[metric] = number
  first = out.get("acc_orig")
  if first and "acc_pmk" in out:
    drop = (first.value or 0.0) - (out["acc_pmk"].value or 0.0)
    out.setdefault("drop", Number(drop))
    if "anchors" in metrics and first.n:
      out["anchors"] = Number(float(first.n))
  return out


def _printed_lines(rows: Iterable[PrintedRow]) -> list[Line]:
  lines: dict[tuple[int, str], dict[str, PrintedRow]] = {}
  for row in rows:
    lines.setdefault((row.line, row.name), {})[row.metric] = row
  return [_printed_line(list(row.values())) for row in lines.values()]


def _printed_line(rows: Sequence[PrintedRow]) -> Line:
  datasets = dict.fromkeys(d for row in rows for d in row.datasets)
  texts = {
    "dataset": "; ".join(datasets),
    "model": rows[0].label,
    "condition": rows[0].name,
    "note": rows[0].note,
  }
  numbers = {row.metric: printed.number(row) for row in rows}
  return Line(texts, numbers)


def _sheet(
  rows: Sequence[PrintedRow],
  metrics: Sequence[str],
  lines: Sequence[Line],
  caption: str,
) -> sheet.Sheet:
  texts = [
    t
    for t in ("dataset", "model", "condition")
    if len({line.texts.get(t, "") for line in lines}) > (t == "dataset")
    and any(line.texts.get(t) for line in lines)
  ]
  notes = ["note"] * any(line.texts.get("note") for line in lines)
  ends = {r.metric for r in rows if r.lo is not None}
  columns: list[str | sheet.Column] = [*texts]
  for metric in metrics:
    columns += _columns(metric, [r for r in rows if r.metric == metric], ends)
  cells = [
    [
      *(line.texts.get(t, "") for t in texts),
      *(c for m in metrics for c in _cells(line.numbers.get(m), m in ends)),
      *(line.texts.get(t, "") for t in notes),
      line.source,
    ]
    for line in lines
  ]
  return sheet.Sheet([*columns, *notes, "source"], cells, caption)


def _columns(
  metric: str, rows: Sequence[PrintedRow], ends: set[str]
) -> list[sheet.Column]:
  """Return a metric's column and those of its interval, as printed."""
  heading = definitions.printed_heading(metric)
  texts = [row.text for row in rows]
  places = max(len(text.partition(".")[2]) for text in texts)
  digits = None if any("e" in text for text in texts) else places
  percent = any(abs(float(r.text) - r.value) > 1e-9 for r in rows)
  names = [heading, *([f"{heading} lo", f"{heading} hi"] * (metric in ends))]
  return [sheet.Column(name, digits, percent) for name in names]


def _cells(number: Number | None, ends: bool) -> list[sheet.Cell]:
  if number is None:
    return [None] * (3 if ends else 1)
  return [number.value, *([number.lo, number.hi] if ends else [])]


def _value(line: Line, metric: str) -> float:
  number = line.numbers.get(metric)
  return (number.value if number else None) or 0.0


def _caption(
  rows: Sequence[PrintedRow],
  models: Sequence[own.Own],
  drawn: Sequence[str],
  remark: str,
) -> str:
  source = printed.words_of_source(rows)
  doubts = doubt.sentences(rows, as_printed=True)
  parts = [source, doubts, remark, own.missing_numbers(models, drawn)]
  return " ".join(filter(None, parts))
