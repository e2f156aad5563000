"""Metrics of natural perturbations by class, distance, offset, ...

A metric `acc_pmk/class=3` is `acc_pmk` of the breakdown `class` at the value 3.
"""

from eval.cells import table
from eval.metrics import definitions
from eval.tables.context import Context


def series(
  context: Context, model: str, metric: str, breakdown: str
) -> list[tuple[str, table.Row]]:
  """Return (value, row) of a model's metrics `<metric>/<breakdown>=<value>`.

  They are in numeric order if all values are numbers, else in the table's order.
  """
  prefix = f"{metric}/{breakdown}="
  pairs = [
    (r.metric.removeprefix(prefix), r)
    for r in context.rows
    if r.model == model and r.metric.startswith(prefix)
  ]
  if all(_is_number(value) for value, _ in pairs):
    pairs.sort(key=lambda pair: float(pair[0]))
  return pairs


def row(context: Context, model: str, metric: str) -> table.Row | None:
  """Return a model's row over cells, else that of its cell, else None."""
  rows = table.select(context.rows, model=model, metric=metric)
  return min(rows, key=lambda r: bool(r.config), default=None)


def line(context: Context, name: str) -> tuple[table.Row, table.Row] | None:
  """Return slope and intercept of a line over models; None if not fitted."""
  slope = row(context, "", f"{name}_slope")
  intercept = row(context, "", f"{name}_intercept")
  return (slope, intercept) if slope and intercept else None


def class_name(context: Context, index: str) -> str:
  """Return a class's name, or its id if names are unknown."""
  names = context.class_names
  return definitions.words(
    names[int(index)] if int(index) < len(names) else index
  )


def _is_number(text: str) -> bool:
  return text.lstrip("+-").replace(".", "", 1).isdigit()
