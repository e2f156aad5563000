"""Pivots of the table that several reports share."""

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
    metric: of all its numbers: their unit and sense.
    numbers: from top to bottom, nan where there is none.
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
    """Index of the best of several numbers; None of one, where all are nan, where
    several are best or nobody said which is better, or of means over parts.
    """
    if len(self.numbers) < 2 or not self.metric.sign or self.metric.part_of:
      return None
    losses = [-self.metric.sign * number for number in self.numbers]
    least = min((x for x in losses if not math.isnan(x)), default=math.nan)
    return losses.index(least) if losses.count(least) == 1 else None


@dataclasses.dataclass(frozen=True)
class Table:
  """Named lines of numbers, for a page.

  Attributes:
    title: above it.
    corner: the heading of the lines' names.
    names: of the lines.
    columns: each with a number a line.
    bold: whether the best number of each column is in bold.
  """

  title: str
  corner: str
  names: Sequence[str]
  columns: Sequence[Column]
  bold: bool = False

  @property
  def lines(self) -> list[list[tuple[str, bool]]]:
    """Of each name its numbers, and whether each is in bold."""
    return [
      [(c.texts[i], self.bold and c.best == i) for c in self.columns]
      for i in range(len(self.names))
    ]


def headlines(context: Context) -> list[Metric]:
  """The task's headline numbers that the table has."""
  return _present(context, context.facts.headlines)


def details(context: Context) -> list[Metric]:
  """The numbers of each corruption that the table has."""
  return _present(context, context.facts.details)


def main_details(context: Context) -> list[Metric]:
  """The numbers of each corruption, plain ones left out that are normalised."""
  present = details(context)
  plain = {m.normalises for m in present}
  return [m for m in present if m.name not in plain]


def headline_columns(context: Context) -> list[Column]:
  """A column a headline number, a line a model."""
  return [
    Column(
      metric.heading,
      metric,
      [headline(context, model, metric.name) for model in context.models],
    )
    for metric in headlines(context)
  ]


def detail_columns(context: Context, names: Sequence[str]) -> list[Column]:
  """A column a model and number of one corruption, a line a corruption."""
  return [
    Column(
      f"{model} {metric.heading}",
      metric,
      [by_corruption(context, model, metric.name, name) for name in names],
    )
    for model in context.models
    for metric in details(context)
  ]


def corruption_columns(
  context: Context, metric: Metric, names: Sequence[str]
) -> list[Column]:
  """A column a corruption, a line a model, all of one metric."""
  return [
    Column(
      name,
      metric,
      [by_corruption(context, m, metric.name, name) for m in context.models],
    )
    for name in names
  ]


def sections(context: Context) -> list[tuple[str, list[str]]]:
  """(heading, names) of the run's common, extra and own corruptions."""
  kind = f"{context.facts.noun}s"
  headed = [
    (f"common {kind}", context.common),
    (f"extra {kind} (never in {context.facts.mean})", context.extra),
    (f"own {kind} (in no published mean)", context.own),
  ]
  return [(heading, names) for heading, names in headed if names]


def names(context: Context) -> list[str]:
  """The run's corruptions: common, extra, own."""
  return [*context.common, *context.extra, *context.own]


def row(
  context: Context, model: str, *, metric: str, **equal: object
) -> table.Row | None:
  """The first row of a model with these columns; None where there is none."""
  rows = table.select(context.rows_of.get((model, metric), ()), **equal)
  return rows[0] if rows else None


def value(
  context: Context, model: str, *, metric: str, **equal: object
) -> float:
  """The value of `row`; nan where there is none."""
  first = row(context, model, metric=metric, **equal)
  return first.value if first else math.nan


def headline(context: Context, model: str, metric: str) -> float:
  """A metric of the whole benchmark; nan where there is none."""
  return value(context, model, corruption="", config="", metric=metric)


def by_corruption(
  context: Context, model: str, metric: str, name: str
) -> float:
  """A metric of one corruption; nan where there is none.

  Over all severities, or of the easiest difficulty of a sequence.
  """
  return value(context, model, corruption=name, metric=metric)


def with_unit(words: str, metric: Metric) -> str:
  """Words about a metric, with its unit where it has one."""
  return f"{words} (%)" if metric.percent else words


def note(context: Context) -> str:
  """What the numbers mean in this run, and which are missing or apart."""
  return " ".join([meaning(context), *notes(context)])


def meaning(context: Context) -> str:
  """What the numbers mean in this run."""
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
  """Those that the table has; no empty ones beside means over a part."""
  present = [m for m in metrics if m.name in context.metrics]
  parts = {m.part_of for m in present}
  filled = {row.metric for row in context.rows}
  return [m for m in present if m.name in filled or m.name not in parts]


def notes(context: Context) -> list[str]:
  """What the table notes of headline numbers, a sentence a note of some models.

  Numbers of one corruption say the same in the table alone, but for a user's
  own, which enter no headline.
  """
  named: dict[tuple[str, str], list[str]] = {}
  shown = (*headlines(context), *details(context))
  for metric in {metric.name: metric for metric in shown}.values():
    for row in context.notes:
      if row.metric == metric.name and _is_shown(context, row):
        of = f" ({row.corruption})" if row.corruption else ""
        named.setdefault((row.model, row.note), []).append(metric.heading + of)
  models: dict[tuple[str, str], list[str]] = {}
  for (model, text), headings in named.items():
    models.setdefault((", ".join(headings), text), []).append(model)
  return [
    f"{headings} of {', '.join(of)}: {text}."
    for (headings, text), of in models.items()
  ]


def _is_shown(context: Context, row: table.Row) -> bool:
  """Whether tables of headlines, or of own corruptions, show a row."""
  if row.config or row.severity not in (None, 1):
    return False
  return not row.corruption or row.corruption in context.own
