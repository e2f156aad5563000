"""Figures drawn by a report, over the models of several runs.

Reports draw from a `Context`; here one is made from boards.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eval.cells import table
from eval.cells.number import Number
from eval.report import reports
from eval.report.figures import base
from eval.report.figures.parts import own, sheet
from eval.report.reports.base import Chart
from eval.tables.context import Context
from robust_tfds import errors

_COLUMNS = (
  *("model", "corruption", "severity", "metric", sheet.Column("value")),
  *(sheet.Column("lo"), sheet.Column("hi"), "n", "source"),
)


def context(
  request: base.Request, models: Sequence[own.Own], **changes: Any
) -> Context:
  """Return a context of models of boards.

  Args:
    models: the figure's models.
    request: its runs know the names of the classes.
    **changes: attributes of the context to add or replace.
  """
  first = models[0].board
  listed = {c: None for m in models for c in m.entry.cells}
  names = [n for n in first.family.known_names if n in {c.name for c in listed}]
  known = [list(s.side.run.class_names) for s in request.scored]
  return Context(
    **{
      "facts": first.facts,
      "family": first.family,
      "dataset": first.dataset,
      "rows": [row for model in models for row in rows(model)],
      "corruptions": names,
      "class_names": max(known, key=len, default=[]),
      "provenance": [f"own runs: {own.runs(models)}"],
      **changes,
    }
  )


def rows(model: own.Own) -> list[table.Row]:
  """Return a model's numbers as rows of a table."""
  out = [
    _row(model, metric, number, name, level)
    for (metric, name, level), number in model.entry.numbers.items()
  ]
  out += [
    _row(model, metric, number, c.name, c.level, c.config)
    for c, numbers in model.entry.cells.items()
    for metric, number in numbers.items()
  ]
  return [row for row in out if row.has_value]


def numbers(
  models: Sequence[own.Own], takes: Callable[[table.Row], bool]
) -> list[list[sheet.Cell]]:
  """Return the rows that a figure shows as lines of a sheet."""
  return [
    [
      model.label,
      *(r.corruption, r.severity, r.metric, r.value, r.lo, r.hi, r.n),
      model.source,
    ]
    for model in models
    for r in rows(model)
    if takes(r)
  ]


def numbers_sheet(lines: Sequence[Sequence[sheet.Cell]]) -> sheet.Sheet:
  """Return a sheet of lines of `numbers`."""
  return sheet.Sheet(_COLUMNS, lines)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Redrawn(base.PaperFigure):
  """A figure of a report, over the models of all runs that were given.

  Attributes:
    report: name of the files of the report that draws it.
    shows: prefixes of the metrics that it shows, for the CSV.
    needs: what the runs need, in words, if not every run of the task has it.
  """

  needs_runs: bool = True
  report: str
  shows: tuple[str, ...]
  needs: str = ""

  def _chart(self) -> Chart:
    listed = reports.task_reports(self.tasks[0])
    charts = {r.stem: r for r in listed if isinstance(r, Chart)}
    return charts[self.report]

  def context_changes(self, request: base.Request) -> Mapping[str, Any]:
    return {}

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.from_boards(self.boards(request))
    report_context = context(request, models, **self.context_changes(request))
    chart = self._chart()
    fig = chart.draw(report_context)
    if fig is None:
      raise errors.UserError(
        f"{self.name} cannot be drawn: the runs have none of the numbers that it"
        " shows." + (f" It needs {self.needs}." if self.needs else "")
      )
    lines = numbers(models, lambda r: r.metric.startswith(self.shows))
    foot, table = report_context.provenance, numbers_sheet(lines)
    return base.Drawn(fig, foot, table, text=chart.text(report_context))


def _row(
  model: own.Own,
  metric: str,
  number: Number,
  name: str,
  level: int | None,
  config: str = "",
) -> table.Row:
  value = float("nan") if number.value is None else number.value
  return table.Row(
    model=model.label,
    dataset=model.board.dataset,
    config=config,
    corruption=name,
    severity=level,
    metric=metric,
    value=value,
    lo=number.lo,
    hi=number.hi,
    n=number.n,
    seed=model.entry.seed or 0,
    note=number.note,
  )
