"""Pivots of the table that several reports share; no report itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eval import reports
from eval.results.facts import Metric


def headlines(context: reports.Context) -> list[Metric]:
  """The task's headline numbers that the table has."""
  return _present(context, context.facts.headlines)


def details(context: reports.Context) -> list[Metric]:
  """The numbers of each corruption that the table has."""
  return _present(context, context.facts.details)


def main_details(context: reports.Context) -> list[Metric]:
  """The numbers of each corruption, plain ones left out that are normalised."""
  present = details(context)
  plain = {m.normalises for m in present}
  return [m for m in present if m.name not in plain]


def noun(context: reports.Context) -> str:
  """`corruption` or `perturbation`."""
  return context.facts.noun


def sections(context: reports.Context) -> list[tuple[str, list[str]]]:
  """(heading, names) of the common and the extra corruptions of the run."""
  kind = f"{noun(context)}s"
  listed = [
    (f"common {kind}", common(context)),
    (f"extra {kind} (never in {context.facts.mean})", extra(context)),
  ]
  return [(heading, names) for heading, names in listed if names]


def text(metric: Metric, number: float) -> str:
  """A number as reports print it: rates in percent, distances as they are."""
  if metric.percent:
    return percent(number)
  return "-" if math.isnan(number) else f"{number:.2f}"


def _present(
  context: reports.Context, metrics: Sequence[Metric]
) -> list[Metric]:
  names = {r.metric for r in context.rows}
  return [m for m in metrics if m.name in names]


def value(context: reports.Context, model: str, **equal: object) -> float:
  """The one value with these columns; nan where there is none."""
  for row in context.rows:
    if row.model == model and all(
      getattr(row, k) == v for k, v in equal.items()
    ):
      return row.value
  return math.nan


def headline(context: reports.Context, model: str, metric: str) -> float:
  """A metric of the whole benchmark; nan where there is none."""
  return value(context, model, corruption="", config="", metric=metric)


def by_corruption(context: reports.Context, model: str, metric: str, name: str):
  """A metric of one corruption; nan where there is none.

  Over all severities, or of the easiest difficulty of a sequence.
  """
  return value(context, model, corruption=name, metric=metric)


def percent(number: float, digits: int = 1) -> str:
  """A fraction in percent, `-` for nan."""
  return "-" if math.isnan(number) else f"{100 * number:.{digits}f}"


def common(context: reports.Context) -> list[str]:
  """The run's common corruptions, in paper order."""
  return [n for n in context.corruptions if n in context.common]


def extra(context: reports.Context) -> list[str]:
  """The run's other corruptions."""
  return [n for n in context.corruptions if n not in context.common]


def missing(context: reports.Context) -> list[str]:
  """Common corruptions that the run lacks: without them there is no mCE."""
  return [n for n in context.common if n not in context.corruptions]


def best(numbers: Sequence[float], metric: Metric) -> int | None:
  """Index of the best number of a metric, None where all are nan."""
  sign = -1 if metric.higher_is_better else 1
  real = [(sign * x, i) for i, x in enumerate(numbers) if not math.isnan(x)]
  return min(real)[1] if real else None


def note(context: reports.Context) -> str:
  """What the numbers mean in this run."""
  facts = context.facts
  if facts.explanation:
    return facts.explanation
  if not context.baseline or context.baseline.startswith("none"):
    return "No baseline: plain means only."
  sentence = (
    f"{facts.normalised} are normalised by {context.baseline}; 100 is the"
    " baseline."
  )
  absent = missing(context)
  if absent:
    sentence += f" No {facts.mean}: the run lacks {', '.join(absent)}."
  return sentence
