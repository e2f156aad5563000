"""The points and lines of Figure 3: what is printed of pm-0 and pm-10."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robust_tfds.eval import papers
from robust_tfds.eval.cells import table
from robust_tfds.eval.metrics import trend
from robust_tfds.eval.report.figures.parts import own

METRICS = ("acc_orig", "acc_pmk")


def networks(dataset: str) -> dict[str, tuple[float, ...]]:
  """Testbed, then the printed models with their intervals, for the report."""
  ends = papers.intervals(dataset, *METRICS)
  printed = {
    f"{name}, printed": (*values, *ends[name])
    for name, values in papers.networks(dataset, *METRICS).items()
  }
  return {**papers.testbed(dataset), **printed}


def own_points(models: Sequence[own.Own]) -> dict[str, tuple[float, float]]:
  """Label -> (pm-0, pm-10)."""
  out = {}
  for model in models:
    x, y = (model.value(metric) for metric in METRICS)
    if x is not None and y is not None:
      out[model.label] = x, y
  return out


def line_rows(
  dataset: str, ours: Mapping[str, tuple[float, float]]
) -> list[table.Row]:
  """Slopes and intercepts of the testbed's, the table's and our line."""
  printed = papers.networks(dataset, *METRICS)
  points: dict[str, list[tuple[float, ...]]] = {
    "published_trend": list(papers.testbed(dataset).values()),
    "paper_trend": list(printed.values()),
    "trend": list(ours.values()),
  }
  rows = []
  for name, pairs in points.items():
    if len(pairs) > 2 and len({x for x, _ in pairs}) > 1:
      line = trend.fit(*zip(*pairs))
      rows.append(_row(dataset, f"{name}_slope", line.slope, line))
      rows.append(_row(dataset, f"{name}_intercept", line.intercept, line))
  return rows


def _row(
  dataset: str, metric: str, value: float, line: trend.Trend
) -> table.Row:
  slope = metric.endswith("_slope")
  ends = line.slope_interval if slope else line.intercept_interval
  return table.Row("", dataset, "", "", None, metric, value, *ends, line.n)
