"""The page of a suite: a table per step with a line per model, and the steps left out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eval.metrics.definitions import Metric
from eval.report.pages import template

if TYPE_CHECKING:
  from eval.cells.table import Row


def html(outcomes: Sequence[Any]) -> str:
  """Return the page.

  Args:
    outcomes: of the runs so far: `eval.run.suite.Outcome`.
  """
  finished = [outcome for outcome in outcomes if outcome.plan]
  steps = dict.fromkeys(outcome.step.name for outcome in finished)
  return template.page(
    "suite.html",
    "",
    title="Suite",
    models=list(dict.fromkeys(o.entry.label for o in finished)),
    steps={
      name: _table([o for o in finished if o.step.name == name])
      for name in steps
    },
    left_out=[outcome for outcome in outcomes if outcome.reason],
  )


def _table(outcomes: Sequence[Any]) -> dict[str, Any]:
  """Return the columns and lines of a step, without columns that no model has."""
  facts = outcomes[0].plan.task.facts
  shown = [
    metric
    for metric in facts.headlines
    if any(metric.name in outcome.whole for outcome in outcomes)
  ]
  return {
    "metrics": shown,
    "lines": [(o, _numbers(o, shown)) for o in outcomes],
  }


def _numbers(outcome: Any, metrics: Sequence[Metric]) -> list[Any]:
  """Return metrics beside a run's numbers; None where it lacks one."""
  rows: dict[str, Row] = outcome.whole
  return [
    (metric, rows[metric.name].number if metric.name in rows else None)
    for metric in metrics
  ]
