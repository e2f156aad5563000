"""Tables of models and corruptions that several reports share."""

import dataclasses
import math
from collections.abc import Sequence

from eval.cells import table
from eval.metrics import corruption_error
from eval.metrics.definitions import Metric
from eval.tables import numbers as numbers_lib
from eval.tables.context import Context


@dataclasses.dataclass(frozen=True)
class Column:
  """A column of numbers of one metric.

  Attributes:
    heading: above it.
    metric: the metric of all its numbers.
    numbers: from top to bottom; nan: none.
  """

  heading: str
  metric: Metric
  numbers: Sequence[float]

  @property
  def texts(self) -> list[str]:
    """The numbers as reports print them."""
    return [numbers_lib.plain(self.metric, number) for number in self.numbers]

  @property
  def best(self) -> int | None:
    """Index of the best number, if exactly one is best.

    None also for a single number, a metric without sense, and a mean over a part.
    """
    if len(self.numbers) < 2 or not self.metric.sign or self.metric.part_of:
      return None
    losses = [-self.metric.sign * number for number in self.numbers]
    least = min((x for x in losses if not math.isnan(x)), default=math.nan)
    return losses.index(least) if losses.count(least) == 1 else None


@dataclasses.dataclass(frozen=True)
class Table:
  """Named lines of numbers.

  Attributes:
    corner: the heading of the lines' names.
    names: names of the lines.
    columns: each with a number per line.
    bold: whether the best number of each column is in bold.
  """

  corner: str
  names: Sequence[str]
  columns: Sequence[Column]
  bold: bool = False

  @property
  def lines(self) -> list[list[tuple[str, bool]]]:
    """The numbers of each line, and whether each is in bold."""
    return [
      [(c.texts[i], self.bold and c.best == i) for c in self.columns]
      for i in range(len(self.names))
    ]


def headlines(context: Context) -> list[Metric]:
  """Return the task's headline numbers that the table has."""
  return _present(context, context.facts.headlines)


def details(context: Context) -> list[Metric]:
  """Return the numbers of single corruptions that the table has."""
  return _present(context, context.facts.details)


def main_details(context: Context) -> list[Metric]:
  """Return the numbers of single corruptions, without those also normalised."""
  present = details(context)
  plain = {m.normalises for m in present}
  return [m for m in present if m.name not in plain]


def headline_columns(context: Context) -> list[Column]:
  """Return a column per headline number, with a line per model."""
  return [
    Column(
      metric.heading,
      metric,
      [headline(context, model, metric.name) for model in context.models],
    )
    for metric in headlines(context)
  ]


def detail_columns(context: Context, names: Sequence[str]) -> list[Column]:
  """Return a column per model and detail, with a line per corruption."""
  return [
    Column(
      f"{model} {metric.heading}",
      metric,
      [corruption_value(context, model, metric.name, name) for name in names],
    )
    for model in context.models
    for metric in details(context)
  ]


def corruption_columns(
  context: Context, metric: Metric, names: Sequence[str]
) -> list[Column]:
  """Return a column per corruption, with a line per model."""
  return [
    Column(
      name,
      metric,
      [corruption_value(context, m, metric.name, name) for m in context.models],
    )
    for name in names
  ]


def sections(context: Context) -> list[tuple[str, list[str]]]:
  """Return (heading, names) of the run's common, extra and own corruptions."""
  kind = f"{context.facts.noun}s"
  headed = [
    (f"common {kind}", context.common),
    (f"extra {kind} (never in {context.facts.mean})", context.extra),
    (f"own {kind} (in no published mean)", context.own),
  ]
  return [(heading, names) for heading, names in headed if names]


def names(context: Context) -> list[str]:
  """Return the run's corruptions: common, extra, own."""
  return [*context.common, *context.extra, *context.own]


def row(
  context: Context, model: str, *, metric: str, **equal: object
) -> table.Row | None:
  """Return the first row of a model with these columns, or None."""
  rows = table.select(context.rows_of.get((model, metric), ()), **equal)
  return rows[0] if rows else None


def value(
  context: Context, model: str, *, metric: str, **equal: object
) -> float:
  """Return the value of `row`, or nan."""
  first = row(context, model, metric=metric, **equal)
  return first.value if first else math.nan


def headline(context: Context, model: str, metric: str) -> float:
  """Return a metric of the whole benchmark, or nan."""
  return value(context, model, corruption="", config="", metric=metric)


def corruption_value(
  context: Context, model: str, metric: str, name: str
) -> float:
  """Return a metric of one corruption, or nan.

  It is over all severities, or of the easiest difficulty of a sequence.
  """
  return value(context, model, corruption=name, metric=metric)


def unit_heading(words: str, metric: Metric) -> str:
  """Return words about a metric, with its unit if it has one."""
  return f"{words} (%)" if metric.percent else words


def note(context: Context) -> str:
  """Return sentences on the meaning of the numbers and on missing ones."""
  return " ".join([meaning(context), *notes(context)])


def meaning(context: Context) -> str:
  """Return sentences on the meaning of the numbers in this run."""
  facts = context.facts
  if facts.explanation:
    return " ".join(s for s in (facts.explanation, facts.intervals) if s)
  if not context.baseline or context.baseline.startswith("none"):
    means = context.baseline.removeprefix("none: ") or "plain means only"
    return f"No baseline: {means}."
  how = "a constant in intervals"
  if context.baseline.endswith(corruption_error.SAME_RUN):
    how = "drawn together with the models in intervals"
  sentence = (
    f"{facts.normalised} are normalised by {context.baseline}; 100 is the"
    f" baseline, {how}."
  )
  if context.missing and not context.notes:
    sentence += f" No {facts.mean}: the run lacks {', '.join(context.missing)}."
  return sentence


def _present(context: Context, metrics: Sequence[Metric]) -> list[Metric]:
  """Return the metrics of the table, without empty ones that have a part."""
  present = [m for m in metrics if m.name in context.metrics]
  parts = {m.part_of for m in present}
  filled = {row.metric for row in context.rows}
  return [m for m in present if m.name in filled or m.name not in parts]


def notes(context: Context) -> list[str]:
  """Return the notes of headline numbers and of a user's own corruptions.

  Each note is a sentence with the numbers and models that have it.
  """
  named: dict[tuple[str, str], list[str]] = {}
  shown = (*headlines(context), *details(context))
  for metric in {metric.name: metric for metric in shown}.values():
    for row in context.notes:
      if row.metric == metric.name and _is_shown(context, row):
        place = f" ({row.corruption})" if row.corruption else ""
        heading = f"{metric.heading}{place}"
        named.setdefault((row.model, row.note), []).append(heading)
  models: dict[tuple[str, str], list[str]] = {}
  for (model, text), headings in named.items():
    models.setdefault((", ".join(headings), text), []).append(model)
  return [
    f"{headings} of {', '.join(labels)}: {text}."
    for (headings, text), labels in models.items()
  ]


def _is_shown(context: Context, row: table.Row) -> bool:
  """Return whether tables of headlines or of own corruptions show a row."""
  if row.config or row.severity not in (None, 1):
    return False
  return not row.corruption or row.corruption in context.own
