"""Pivots of the table that several reports share; no report itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eval import reports

HEADLINES = (
  ("clean_error", "Clean error"),
  ("mean_corruption_error", "Mean error (15)"),
  ("mce", "mCE"),
  ("relative_mce", "Relative mCE"),
  ("extra_mean_corruption_error", "Mean error (extra 4)"),
)


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
  """A metric of one corruption over its severities; nan where there is none."""
  return value(context, model, corruption=name, config="", metric=metric)


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


def best(numbers: Sequence[float]) -> int | None:
  """Index of the smallest number, None where all are nan."""
  real = [(x, i) for i, x in enumerate(numbers) if not math.isnan(x)]
  return min(real)[1] if real else None


def note(context: reports.Context) -> str:
  """What normalised numbers mean in this run."""
  absent = missing(context)
  if not context.baseline or context.baseline.startswith("none"):
    return "No baseline: plain means only."
  text = (
    f"CE and mCE are normalised by {context.baseline}; 100 is the baseline."
  )
  if absent:
    text += f" No mCE: the run lacks {', '.join(absent)}."
  return text
