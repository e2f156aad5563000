"""Differences of calibration: ECE, NLL and Brier score of clean cells, and means.

Means over cells are those of a run's table: of a corruption over its levels, of the
benchmark over the common corruptions. Intervals of NLL and Brier score are of the
jackknife, see `left_out_scores`; ECE has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.compare.pairs import over_cells
from robust_tfds.eval.compare.pairs.lines import Line
from robust_tfds.eval.metrics import replicates
from robust_tfds.eval.metrics.resampling import Replicates
from robust_tfds.eval.tasks.parts import missing_cells

Cells = Mapping[Condition, Mapping[str, Replicates]]
METRICS = ("ece", "nll", "brier")


def lines(
  first: Cells, second: Cells, family: conditions.Family
) -> Iterator[Line]:
  """Of clean cells, of every corruption and of the benchmark.

  Args:
    first: of one side.
    second: of the other.
    family: of the conditions.
  """
  for metric in METRICS:
    one, other = (
      {c: of[metric] for c, of in side.items() if metric in of}
      for side in (first, second)
    )
    # No resampling of examples covers ECE: it is biased upwards by how many
    # examples a bin has, of two models unequally.
    drawn = metric != "ece"
    clean = Condition()
    if clean in one and clean in other:
      key = metric, "", None
      yield over_cells.line(key, one[clean], other[clean], drawn=drawn)
    names = dict.fromkeys(c.name for c in one if c.name)
    for name, over in [
      ("", family.names("common")),
      *((n, [n]) for n in names),
    ]:
      cells = missing_cells.needed(family, over)
      if cells and all(c in one and c in other for c in cells):
        means = (_mean([side[c] for c in cells]) for side in (one, other))
        yield over_cells.line(
          (f"mean_{metric}", name, None), *means, drawn=drawn
        )


def _mean(several: list[Replicates]) -> Replicates:
  return replicates.combine(lambda *each: np.mean(each, axis=0), *several)
