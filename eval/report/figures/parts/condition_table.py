"""Tables 1 to 4 of Hendrycks and Dietterich: a mean and all its conditions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from etils import epath

from robust_tfds import conditions
from robust_tfds.eval import papers
from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own, printed, sheet

_PAPER = "hendrycks2019"
_CLEAN = "clean_error"
_PRINTED = "printed"
_TIDY = ("network", "metric", "condition", "value", "lo", "hi", "source")

Key = tuple[str, str]  # metric, condition


@dataclasses.dataclass(frozen=True)
class Line:
  """A network's numbers.

  Attributes:
    network: its label.
    numbers: (metric, condition) -> number.
    source: printed, or which run.
  """

  network: str
  numbers: Mapping[Key, Number]
  source: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConditionTable(base.PaperFigure):
  """Printed networks, then the models of runs; a column a condition.

  The CSV has a line a number, with its interval.

  Attributes:
    table: file of `eval/papers`.
    mean: metric of the benchmark, with its heading.
    detail: metric of a condition.
    family: kind of the conditions.
  """

  table: str
  mean: tuple[str, str]
  detail: str
  family: str

  def draw(
    self, request: base.Request, folder: epath.Path
  ) -> Sequence[epath.Path]:
    """Writes the table and its CSV."""
    rows = printed.table(_PAPER, self.table)
    models = own.of(self.boards(request))
    lines = [*_printed_lines(rows), *self._own_lines(models)]
    wide = sheet.Sheet(
      self._columns(),
      list(map(self._cells, lines)),
      self._caption(rows, models),
    )
    tidy = sheet.Sheet(
      _TIDY, [cells for line in lines for cells in _tidy(line)]
    )
    return [
      wide.write_markdown(folder, self.name, self.title),
      tidy.write_csv(folder, self.name),
    ]

  @property
  def _keys(self) -> list[Key]:
    names = conditions.family(self.family).names("common")
    means = [(_CLEAN, ""), (self.mean[0], "")]
    return [*means, *((self.detail, name) for name in names)]

  def _own_lines(self, models: Sequence[own.Own]) -> Iterator[Line]:
    for model in models:
      numbers = {key: model.number(*key) for key in self._keys}
      known = {key: number for key, number in numbers.items() if number}
      if (self.mean[0], "") in known:
        yield Line(model.label, known, model.source)

  def _columns(self) -> list[str | sheet.Column]:
    mean = self.mean[1]
    return [
      *("network", sheet.Column("clean error"), sheet.Column(mean)),
      *(sheet.Column(f"{mean} lo"), sheet.Column(f"{mean} hi")),
      *(
        sheet.Column(name.replace("_", " "), digits=0)
        for _, name in self._keys[2:]
      ),
      "source",
    ]

  def _cells(self, line: Line) -> list[sheet.Cell]:
    numbers = [line.numbers.get(key) for key in self._keys]
    clean, mean, *others = (n.value if n else None for n in numbers)
    ends = numbers[1]
    return [
      *(line.network, clean, mean),
      *(ends.lo if ends else None, ends.hi if ends else None),
      *(*others, line.source),
    ]

  def _caption(
    self, rows: Sequence[papers.PrintedRow], models: Sequence[own.Own]
  ) -> str:
    parts = [f"In %. Source: {printed.source_of(rows)}.", printed.doubts(rows)]
    if models:
      parts.append(_of_runs(models, rows[0].datasets[0], self.mean))
    return " ".join(filter(None, parts))


def _of_runs(
  models: Sequence[own.Own], dataset: str, mean: tuple[str, str]
) -> str:
  """What is to be known of the runs' lines."""
  known = [m.label for m in models if m.number(mean[0])]
  parts = ["lo, hi: 95 % intervals of runs; printed numbers have none."]
  parts.append(own.baselines(models, dataset))
  parts += [own.remark(models, dataset), own.without(models, known)]
  return " ".join(filter(None, dict.fromkeys(parts)))


def _printed_lines(rows: Sequence[papers.PrintedRow]) -> list[Line]:
  lines: dict[str, dict[Key, Number]] = {}
  for row in rows:
    of = lines.setdefault(row.label, {})
    of[row.metric, row.name] = Number(row.value, row.lo, row.hi)
  return [Line(label, of, _PRINTED) for label, of in lines.items()]


def _tidy(line: Line) -> Iterator[list[sheet.Cell]]:
  for (metric, name), number in line.numbers.items():
    ends = number.value, number.lo, number.hi
    yield [line.network, metric, name, *ends, line.source]
