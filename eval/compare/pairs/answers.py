"""Differences of metrics of answers, such as ECE: of clean cells, and of means.

Means over cells are those of a run's table: of a corruption over its levels, of
the benchmark over the common corruptions. Intervals of means over examples, such
as NLL, come from the jackknife over blocks of groups. Other metrics have none:
ECE is biased upwards, depending on the number of examples per bin, which differs
between two models.
"""

from collections.abc import Iterator, Mapping

from eval.compare.pairs import over_cells
from eval.compare.pairs.lines import Line
from eval.metrics import answers as answer_metrics
from eval.metrics.resampling import Replicates
from eval.tasks.headlines import headlines
from eval.tasks.parts import reliability
from robust_tfds import conditions
from robust_tfds.conditions import Condition

Cells = Mapping[Condition, Mapping[str, Replicates]]


def lines(
  first: Cells, second: Cells, family: conditions.Family
) -> Iterator[Line]:
  """Return the lines of clean cells, of every corruption and of the benchmark."""
  one, other = (
    headlines.numbers(reliability.headlines(side, family), side, {})
    for side in (first, second)
  )
  clean = Condition()
  for metric in (m.name for m in answer_metrics.metrics()):
    if all(metric in side.get(clean, {}) for side in (first, second)):
      cells = (side[clean][metric] for side in (first, second))
      yield over_cells.line((metric, "", None), *cells)
    means = [k for k in one if k in other and k[0] == f"mean_{metric}"]
    for key in sorted(means, key=lambda k: k[1] != ""):  # the benchmark's first
      yield over_cells.line(key, one[key], other[key])
