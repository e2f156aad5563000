"""Ranks, and the ranks that the data leave open."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from eval.metrics import replicates, significance
from eval.metrics.replicates import Replicates

LEVEL = 0.05


def ranks(values: Sequence[float], sign: int) -> list[int]:
  """Return competition ranks from 1; equal values share the better one.

  Args:
    values: one value per model.
    sign: 1 if more is better, -1 if less is; see `Metric.sign`.

  >>> ranks([0.3, 0.1, 0.1, 0.2], sign=-1)
  [4, 1, 1, 3]
  """
  return [1 + sum(sign * b > sign * a for b in values) for a in values]


def ranges(numbers: Sequence[Replicates], sign: int) -> list[tuple[int, int]]:
  """Return each model's best and worst rank that its paired differences leave open.

  One model is better than another if their paired difference is significant at
  5 % over all pairs (Holm). p comes from the blocks' interval: the few thousand
  draws of a bootstrap cannot show the small p that many pairs need.

  Args:
    numbers: the numbers of models over the same examples, each of shape `[]`.
    sign: 1 if more is better, -1 if less is.
  """
  replicates.check_same(numbers)
  count = len(numbers)
  first, second = np.triu_indices(count, 1)
  alone = [dataclasses.replace(n, draws=None) for n in numbers]
  joined = np.stack([n.joined for n in alone])
  fewest = min(alone, key=lambda n: n.effective_groups)
  difference = fewest.like(joined[first] - joined[second])
  p = significance.interval_p(difference)
  # Undefined without some block, as a ratio to 0 is: such a pair stays open.
  p = np.where(np.isnan(p), 1.0, p)
  sure = significance.holm(np.atleast_1d(p)) <= LEVEL
  first_better = sign * difference.value > 0
  better = np.zeros((count, count), bool)
  better[first[sure & first_better], second[sure & first_better]] = True
  better[second[sure & ~first_better], first[sure & ~first_better]] = True
  return significance.rank_ranges(better)
