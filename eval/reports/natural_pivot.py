"""Pivots of the rows of natural perturbations; no report itself."""

from __future__ import annotations

from eval import reports
from eval.reports import style
from eval.results import table


def series(
  context: reports.Context, model: str, metric: str, what: str
) -> list[tuple[str, table.Row]]:
  """(value, row) of the metrics `<metric>/<what>=<value>` of a model.

  In the order of the numbers where values are numbers, else of the table.
  """
  prefix = f"{metric}/{what}="
  found = [
    (r.metric.removeprefix(prefix), r)
    for r in context.rows
    if r.model == model and r.metric.startswith(prefix)
  ]
  if all(_is_number(value) for value, _ in found):
    found.sort(key=lambda pair: float(pair[0]))
  return found


def row(context: reports.Context, model: str, metric: str) -> table.Row | None:
  """A model's row over cells, or of its cell where there is none; else None."""
  found = [r for r in context.rows if r.model == model and r.metric == metric]
  found.sort(key=lambda r: bool(r.config))
  return found[0] if found else None


def class_name(context: reports.Context, index: str) -> str:
  """A class by its name, or by its id where names are not known."""
  names = context.class_names
  found = names[int(index)] if int(index) < len(names) else index
  return found.replace("_", " ")


def colour(index: int) -> str:
  """The colour of the model at a position of the table."""
  return style.COLOURS[index % len(style.COLOURS)]


def marker(index: int) -> str:
  """The marker of the model at a position of the table."""
  return style.MARKERS[index % len(style.MARKERS)]


def _is_number(text: str) -> bool:
  return text.lstrip("+-").replace(".", "", 1).isdigit()
