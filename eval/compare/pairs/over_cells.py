"""Differences of numbers over cells: mCE, mFR, mPC, gamma and so on.

Differences and relative decreases have intervals from paired draws: each draw
of groups gives both sides' numbers by the task's formulas. The intervals are 95
% each, without adjustment for their number.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from eval.cells.facts import TaskFacts
from eval.cells.number import Key, Number
from eval.compare.pairs.baseline import Baseline
from eval.compare.pairs.lines import Line
from eval.compare.pairs.numbers import Numbers
from eval.compare.sides import Side
from eval.metrics import (
  definitions,
  rates,
  replicates,
  significance,
)
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import spread

_CATEGORY = "accuracy/category/"
_AT_MOST_1 = (-math.inf, 1.0)  # range of 1 - ratio


def lines(
  first: Side, second: Side, baseline: Baseline, numbers: Numbers
) -> list[Line]:
  """Return the lines of all numbers over cells that both sides have.

  Args:
    baseline: what normalises both.
    numbers: numbers of the first, the second, and the baseline's models if it has
      any.
  """
  one, other, *references = numbers.cells
  # The first's own reference, then the second's; one may serve both.
  by_first = references[0] if references else None
  by_second = references[-1] if references else None
  # Both over what neither was trained on.
  cells = [c for side in (first, second) for c in side.cells.values()]
  seen = {one for cell in cells for one in cell.conditions_seen}
  mine = baseline.task(first).over_cells(one, by_first, seen)
  theirs = baseline.task(second).over_cells(other, by_second, seen)
  metrics = list(dict.fromkeys(metric for metric, _, _ in mine))
  shared = (key for key in mine if key in theirs)
  out = [
    line(key, mine[key], theirs[key])
    for key in sorted(shared, key=lambda k: (k[2] or 0, metrics.index(k[0])))
  ]
  return [*out, *_training_gamma(one, other)]


def line(key: Key, first: Replicates, second: Replicates) -> Line:
  """Return one number over cells.

  Args:
    key: metric, corruption, level.
    second: the second side's number, of the same draws.
  """
  metric, corruption, level = key
  difference = replicates.combine(np.subtract, first, second)
  decrease = replicates.combine(significance.relative_decrease, first, second)
  known = definitions.any_task_metric(metric).bounds
  # Of a number that can be below 0, as relative CE can, any decrease is possible.
  decrease_bounds = _AT_MOST_1 if known[0] >= 0 else (-math.inf, math.inf)
  ends = [
    spread.number(difference, spread.difference_bounds(known)),
    spread.number(decrease, decrease_bounds),
  ]
  return Line(
    metric,
    corruption,
    level,
    None,
    float(first.value),
    float(second.value),
    difference=ends[0],
    decrease=ends[1],
    note=_note(*ends),
  )


def _note(difference: Number, decrease: Number) -> str:
  """Return why there is no number or no interval; else ''."""
  if not math.isfinite(difference.or_nan):
    return "undefined: what a side is divided by is not above 0"
  if difference.note or not decrease.note:
    return difference.note
  return f"the relative decrease: {decrease.note}"


def _training_gamma(first: Mapping, second: Mapping) -> list[Line]:
  """Return Figure 12's gamma_r of videos with natural shifts.

  It is the mean over categories of 1 - (A - B) / B, where the first model
  counts as trained on clean, the second on perturbed data (Schiappa et al.
  2023).
  """
  ratios: list[Replicates] = []
  for condition, metrics in first.items():
    for metric, accuracy in metrics.items():
      other = second[condition].get(metric)
      if metric.startswith(_CATEGORY) and other is not None:
        ratios.append(replicates.combine(_robustness, accuracy, other))
  if not ratios:
    return []
  mean = replicates.combine(
    lambda *each: np.mean(each, axis=0), *ratios, disjoint=True
  )
  above = replicates.combine(lambda x: x - 1, mean)
  return [
    Line(
      "gamma_r",
      "",
      None,
      None,
      float(mean.value),
      1.0,
      spread.number(above, _AT_MOST_1),
      note="the first as trained on clean, the second on perturbed data: Figure"
      " 12 of Schiappa et al. 2023",
    )
  ]


def _robustness(clean: np.ndarray, perturbed: np.ndarray) -> np.ndarray:
  return 2 - rates.ratio(clean, perturbed)


def split(
  every: Sequence[Line], facts: TaskFacts
) -> tuple[list[Line], list[Line]]:
  """Split lines into those of the whole benchmark and of corruptions, metric by metric.

  Args:
    every: lines in any order of the metrics.
    facts: facts of the task, which define the order of the benchmark's lines.
  """
  order = [metric.name for metric in facts.headlines]

  def place(line: Line) -> tuple[int, int]:
    known = line.metric in order
    return line.level or 0, order.index(line.metric) if known else len(order)

  metrics = list(dict.fromkeys(line.metric for line in every))
  corruption_lines = [line for line in every if not line.whole_benchmark]
  return (
    sorted((line for line in every if line.whole_benchmark), key=place),
    sorted(
      corruption_lines,
      key=lambda line: (line.level or 0, metrics.index(line.metric)),
    ),
  )
