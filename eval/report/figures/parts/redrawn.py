"""Figures that the reports of a run have too: the same drawing, any models.

Reports draw from a `Context`; here one is made of boards, so that models of
several runs stand in one figure.
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
  request: base.Request, models: Sequence[own.Own], **others: Any
) -> Context:
  """What reports read, of models of boards.

  Args:
    request: whose runs know the names of the classes.
    **others: further attributes of the context, and those to replace.
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
      **others,
    }
  )


def rows(model: own.Own) -> list[table.Row]:
  """A model's numbers as rows of a table."""
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
  """Lines of a sheet: a model's rows that a figure shows."""
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
  """The same for the CSV."""
  return sheet.Sheet(_COLUMNS, lines)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Redrawn(base.PaperFigure):
  """A figure of a report, over the models of all runs that were given.

  Attributes:
    report: what draws it: the name of its files.
    shows: how the names of the metrics begin that it shows, for the CSV.
    needs: what has them, in words, where not every run of the task has.
  """

  needs_runs: bool = True
  report: str
  shows: tuple[str, ...]
  needs: str = ""

  def _chart(self) -> Chart:
    listed = reports.task_reports(self.tasks[0])
    charts = {r.stem: r for r in listed if isinstance(r, Chart)}
    return charts[self.report]

  def others(self, request: base.Request) -> Mapping[str, Any]:
    return {}

  def drawn(self, request: base.Request) -> base.Drawn:
    models = own.of(self.boards(request))
    report_context = context(request, models, **self.others(request))
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
